package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.controller.store.{FlareStore, StoreException}
import burst.node.logs.LogIds.of
import burst.protocol.{FlareId, InvokerId, Timestamp}
import org.apache.pekko.actor.typed.scaladsl.AskPattern.*
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem}
import org.apache.pekko.pattern.after
import org.apache.pekko.util.Timeout
import org.slf4j.LoggerFactory
import scala.concurrent.{ExecutionContext, Future, TimeoutException}
import scala.concurrent.duration.{Deadline, DurationInt, FiniteDuration}

/** [[FlareService]] that asks the scheduler; ended flares are read from the store. */
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

  // a caller that looks at a flare does not wait long for what is only shown beside it
  private val EstimateTimeout = 1.second

  // how long a scheduler that was asked for a flare's end may take to answer, and the pause before the next
  // attempt when it does not know the flare, or when the store failed
  private val AwaitTimeout = 5.seconds
  private val AwaitPause = 200.millis

  private given ExecutionContext = system.executionContext
  private given Timeout = Timeout(settings.askTimeout)
  private val log = LoggerFactory.getLogger(classOf[ActorFlareService])
  private val submitting =
    Submitting(scheduler, settings.askTimeout, settings.storeDeadline, host, stored)

  /** The scheduler's list of revoked namespaces may predate the namespace's new key. If that key is revoked
    * in the meantime as well, the flare is ended after all.
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
        // Another controller sends only a summary.
        case Submitted.Accepted(flare, results) if flare.state.isFinal && flare.workers.isEmpty =>
          // If the flare cannot be read now, the caller keeps waiting for it.
          val whole = stored(flare.id).recover(_ => None)
          whole.map(found =>
            Right(FlareView(found.getOrElse(flare.copy(state = FlareState.Running)), results))
          )
        case Submitted.Accepted(flare, results) => Future.successful(Right(FlareView(flare, results)))
        case Submitted.Refused(Refusal.NamespaceRevoked) => refusedAsRevoked(request)
        case Submitted.Refused(refusal) => Future.successful(Left(refusal))
        case Submitted.NotStored(operation, cause) => Future.failed(StoreException(operation, cause))
      }

  /** Asks repeatedly: the scheduler that was asked may have ended, with another controller in charge now, and
    * the store may fail for a while.
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
              // A flare that is not stored yet is still active.
              case Right(None) => answer.isEmpty
              case Right(Some(flare)) => !flare.state.isFinal
            // A failing store may take its time.
            val left = (if answer.isEmpty then limit - patience else limit).min(end.timeLeft)
            if goesOn && left > AwaitPause then
              after(AwaitPause)(awaiting(id, left - AwaitPause, hasFailed || found.isLeft))
            else Future.successful(found.toOption.flatten.map(FlareView(_)))
      }

  /** The flare, or why the store cannot return it; that is logged once per wait. */
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
