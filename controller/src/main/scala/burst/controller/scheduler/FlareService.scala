package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest}
import burst.protocol.{FlareId, InvokerStatus}
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

/** Why a flare was not accepted, as data; `http/ApiError` renders it. */
enum Refusal:
  /** More workers than the whole cluster has slots. */
  case TooLarge(size: Int, clusterSlots: Int)

  /** The namespace's own limit stands in the way. */
  case OverLimit(limit: String, asked: Long, allowed: Long)
  case NoInvokers
  case QueueFull(limit: Int)

  /** The group a flare is to run on has ended. */
  case GroupEnded(group: FlareId)

  /** Its definition has been overwritten or removed since it was read: to be read again. */
  case PackageGone

enum CancelOutcome:
  case Accepted, AlreadyEnded, NotFound

/** An invoker as the cluster state sees it. */
final case class InvokerView(status: InvokerStatus, freeSlots: Int, up: Boolean)

/** What the HTTP side asks of the scheduler's side. The one seam between the two. */
trait FlareService:
  /** Stores the flare, or group, as queued and gives it to the scheduler; the answer is stored before it is
    * given.
    */
  def submit(request: FlareRequest): Future[Either[Refusal, Flare]]

  /** Completes when the flare has ended, or with its present state after `limit`. */
  def await(id: FlareId, limit: FiniteDuration): Future[Option[Flare]]

  /** Also closes a group, with the flares that run or wait on it. */
  def cancel(id: FlareId): Future[CancelOutcome]

  /** Where it stands in the queue; nothing when it does not wait, or nobody can tell at present. */
  def standing(id: FlareId): Future[Option[Standing]]
  def invokers(): Future[Vector[InvokerView]]
