package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, WorkerResult}
import burst.protocol.{FlareId, InvokerId, InvokerStatus, Timestamp}
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

/** Why a flare was not accepted, as data; `http/ApiError` renders it. */
enum Refusal:
  /** More workers than the whole cluster has slots. */
  case TooLarge(size: Int, clusterSlots: Int)

  /** No machine is large enough for so many workers together, as `granularity` has them. */
  case UnitTooLarge(granularity: Int, largestMachine: Int)

  /** In units of `granularity`, only so many workers fit on the machines, however many slots there are. */
  case UnitsTooLarge(size: Int, granularity: Int, usable: Int, clusterSlots: Int)

  /** The namespace's own limit stands in the way. */
  case OverLimit(limit: String, asked: Long, allowed: Long)
  case NoInvokers
  case QueueFull(limit: Int)

  /** The group a flare is to run on has ended. */
  case GroupEnded(group: FlareId)

  /** Its definition has been overwritten or removed since it was read: to be read again. */
  case PackageGone

  /** Its key stands for a flare that was stored meanwhile: to be looked for. */
  case AlreadySubmitted

  /** The namespace's key was revoked while the request was under way. */
  case NamespaceRevoked

  /** A scheduler that knows more invokers might accept it. */
  def isOfFewInvokers: Boolean = this match
    case NoInvokers | _: (TooLarge | UnitTooLarge | UnitsTooLarge) => true
    case _ => false

/** Who has a flare ended before its time. */
enum CancelledBy:
  case User, Administrator, Revocation

  /** It could not be stored, or not in time; its submitter was told, and then it was there nevertheless. */
  case StoreFailure

enum CancelOutcome:
  case Accepted, AlreadyEnded, NotFound

/** An invoker as the cluster state sees it. One that is up may be avoided, until a time of the day, or be
  * `drained`: given no more flares. `usedSlots` are those of flares that run on it.
  */
final case class InvokerView(
    status: InvokerStatus,
    freeSlots: Int,
    up: Boolean,
    quarantine: Option[Suspicion[Timestamp]] = None,
    usedSlots: Int = 0,
    drained: Boolean = false
):
  /** Whether flares may count on it, now or once others have ended. */
  def offers: Boolean = up && !drained

/** A flare as it is, and the results of all its workers where they are known without asking the store. */
final case class FlareView(flare: Flare, results: Vector[WorkerResult] = Vector.empty)

/** What the HTTP side asks of the scheduler's side. The one seam between the two. */
trait FlareService:
  /** Gives the flare, or group, to the scheduler. What is answered is stored, but for one that nobody is told
    * of before its end: its answer is that end where it comes soon.
    */
  def submit(request: FlareRequest): Future[Either[Refusal, FlareView]]

  /** Completes when the flare has ended, or with its present state after `limit`. */
  def await(id: FlareId, limit: FiniteDuration): Future[Option[FlareView]]

  /** Also closes a group, with the flares that run or wait on it. */
  def cancel(id: FlareId, by: CancelledBy = CancelledBy.User): Future[CancelOutcome]

  /** Ends all flares and groups of a namespace that has been revoked, and those that are still on their way.
    */
  def endRevoked(namespace: String): Future[Unit]

  /** Where it stands in the queue; nothing when it does not wait, or nobody can tell at present. */
  def queueEstimate(id: FlareId): Future[Option[QueueEstimate[Timestamp]]]
  def invokers(): Future[Vector[InvokerView]]

  /** Has a machine be given no more flares, or some again: the scheduler alone is told. The machine as it
    * then is; nothing where the scheduler knows none of that id.
    */
  def drain(id: InvokerId, on: Boolean): Future[Option[InvokerView]]
