package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState, WorkerResult}
import burst.controller.store.{FlareStore, StoreException}
import burst.node.logs.LogIds.of
import burst.protocol.{FlareId, InvokerId, InvokerStatus, Timestamp}
import org.apache.pekko.actor.typed.scaladsl.AskPattern.*
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem}
import org.apache.pekko.pattern.after
import org.apache.pekko.util.Timeout
import org.slf4j.LoggerFactory
import scala.concurrent.{ExecutionContext, Future, TimeoutException}
import scala.concurrent.duration.{Deadline, DurationInt, FiniteDuration}

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

/** Who cancelled a flare. */
enum CancelledBy:
  case User, Administrator, Revocation

  /** It could not be stored, or not in time; its submitter was told, and then it was there nevertheless. */
  case StoreFailure

enum CancelOutcome extends GangScheduler.Answer:
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

/** [[FlareService]] by asking the scheduler; what has ended is read from the store. */
final class ActorFlareService(
    scheduler: ActorRef[GangScheduler.Request],
    store: FlareStore,
    limits: SlotLimits,
    settings: SchedulerSettings,
    blocking: ExecutionContext,
    host: () => SchedulerHost = () => SchedulerHost.Here
)(using system: ActorSystem[?])
    extends FlareService:
  import GangScheduler.*

  // who looks at a flare is not kept waiting for what is only shown beside it
  private val EstimateTimeout = 1.second

  // how long one that was asked for a flare's end is counted on, and what goes by before one who knows nothing of it,
  // or a store that failed, is asked again
  private val AwaitTimeout = 5.seconds
  private val AwaitPause = 200.millis

  private given ExecutionContext = system.executionContext
  private given Timeout = Timeout(settings.askTimeout)
  private val log = LoggerFactory.getLogger(classOf[ActorFlareService])
  private val submitting =
    Submitting(scheduler, settings.askTimeout, settings.storeDeadline, host, stored)

  /** What the scheduler knows of revocations may be older than the namespace's new key. Should that be
    * revoked as well meanwhile, the flare is ended after all.
    */
  private def refusedAsRevoked(request: FlareRequest): Future[Either[Refusal, FlareView]] =
    val namespace = request.definition.namespace
    def revoked = Future.successful(Left(Refusal.NamespaceRevoked))
    limits.isRevoked(namespace).flatMap {
      case true => revoked
      case false =>
        scheduler ! ReopenNamespace(namespace)
        for
          answer <- submit(request)
          again <- limits.isRevoked(namespace)
          last <- if again then endRevoked(namespace).flatMap(_ => revoked) else Future.successful(answer)
        yield last
    }

  def submit(request: FlareRequest): Future[Either[Refusal, FlareView]] =
    limits
      .of(request.definition.namespace)
      .flatMap(submitting(request, _))
      .flatMap {
        // From another controller comes no more than a summary.
        case Submitted.Accepted(flare, results) if flare.state.isFinal && flare.workers.isEmpty =>
          // Who cannot read it now goes on waiting for it.
          val whole = stored(flare.id).recover(_ => None)
          whole.map(found =>
            Right(FlareView(found.getOrElse(flare.copy(state = FlareState.Running)), results))
          )
        case Submitted.Accepted(flare, results) => Future.successful(Right(FlareView(flare, results)))
        case Submitted.Refused(Refusal.NamespaceRevoked) => refusedAsRevoked(request)
        case Submitted.Refused(refusal) => Future.successful(Left(refusal))
        case Submitted.NotStored(operation, cause) => Future.failed(StoreException(operation, cause))
      }

  /** Asked again and again: who was asked may be no more, and another controller have the scheduler; the
    * store may fail for a while.
    */
  def await(id: FlareId, limit: FiniteDuration): Future[Option[FlareView]] =
    awaiting(id, limit, hasFailed = false)

  private def awaiting(id: FlareId, limit: FiniteDuration, hasFailed: Boolean): Future[Option[FlareView]] =
    val patience = limit.min(AwaitTimeout).max(1.milli)
    val end = Deadline.now + limit
    scheduler
      .ask[Awaited](Await(id, _))(using Timeout(patience), system.scheduler)
      .map(Option(_))
      .recover { case _: TimeoutException => None }
      .flatMap {
        case Some(Awaited.Ended(flare, results)) => Future.successful(Some(FlareView(flare, results)))
        case answer =>
          lookedFor(id, hasFailed).flatMap: found =>
            val goesOn = found match
              case Left(_) => true
              // One that is not stored yet goes on.
              case Right(None) => answer.isEmpty
              case Right(Some(flare)) => !flare.state.isFinal
            // A store that fails may take its time.
            val left = (if answer.isEmpty then limit - patience else limit).min(end.timeLeft)
            if goesOn && left > AwaitPause then
              after(AwaitPause)(awaiting(id, left - AwaitPause, hasFailed || found.isLeft))
            else Future.successful(found.toOption.flatten.map(FlareView(_)))
      }

  /** The flare, or why the store does not tell; that is logged once in a wait. */
  private def lookedFor(id: FlareId, hasFailed: Boolean): Future[Either[StoreException, Option[Flare]]] =
    stored(id).map(Right(_)).recover { case failure: StoreException =>
      if !hasFailed then
        log.atWarn().of(id).setCause(failure).log("whether a flare has ended cannot be read; trying again")
      Left(failure)
    }

  def endRevoked(namespace: String): Future[Unit] =
    scheduler.ask[NamespaceEnded.type](EndNamespace(namespace, _)).map(_ => ())

  def cancel(id: FlareId, by: CancelledBy): Future[CancelOutcome] =
    scheduler.ask[CancelOutcome](Cancel(id, by, _)).flatMap {
      case CancelOutcome.NotFound =>
        stored(id).map(_.fold(CancelOutcome.NotFound)(_ => CancelOutcome.AlreadyEnded))
      case outcome => Future.successful(outcome)
    }

  def queueEstimate(id: FlareId): Future[Option[QueueEstimate[Timestamp]]] =
    val answer =
      scheduler.ask[Located](Locate(id, _))(using Timeout(EstimateTimeout), system.scheduler)
    answer.map(_.standing).recover { case _: TimeoutException => None }

  def invokers(): Future[Vector[InvokerView]] = scheduler.ask[InvokerList](ListInvokers(_)).map(_.invokers)

  def drain(id: InvokerId, on: Boolean): Future[Option[InvokerView]] =
    scheduler.ask[Drained](Drain(id, on, _)).map(_.invoker)

  private def stored(id: FlareId): Future[Option[Flare]] = Future(store.find(id))(using blocking)
