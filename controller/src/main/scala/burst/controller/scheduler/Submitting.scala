package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest}
import burst.controller.store.StoreException
import burst.protocol.FlareId
import org.apache.pekko.actor.typed.scaladsl.AskPattern.*
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem}
import org.apache.pekko.pattern.after
import org.apache.pekko.util.Timeout
import scala.concurrent.duration.{Deadline, Duration, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, TimeoutException}
import scala.util.{Failure, Success, Try}

/** Submits flares to the scheduler, under ids that are chosen here. If the scheduler can move to another
  * controller, a flare is submitted again under its id when no answer arrives, since the scheduler that first
  * received it may have ended: no flare runs twice, and flares that nobody would submit again (a step of a
  * sequence, an action that a rule begins) are not lost. Steps of sequences are also submitted again when the
  * database fails. If nobody learns of a flare before its end, that end is its answer, and it need not be
  * stored while it waits.
  */
private[scheduler] final class Submitting(
    scheduler: ActorRef[GangScheduler.Request],
    limit: FiniteDuration,
    storeDeadline: FiniteDuration,
    host: () => SchedulerHost,
    stored: FlareId => Future[Option[Flare]]
)(using system: ActorSystem[?]):
  import GangScheduler.{Cancel, Submit, Submitted}
  import Submitting.*

  private given ExecutionContext = system.executionContext

  def apply(request: FlareRequest, slotLimit: Int): Future[Submitted] =
    val longest = limit.max(Patience)
    def submit(id: Option[FlareId], within: FiniteDuration): Future[Submitted] =
      scheduler.ask[Submitted](Submit(request, slotLimit, _, id))(using Timeout(within), system.scheduler)
    // Another controller takes over the scheduler within a quarter of a minute; a database may take longer to
    // recover.
    val within = if Waiting.isPart(request) then storeDeadline.max(longest * 2) else longest * 2
    host() match
      case SchedulerHost.OfFormerRelease => submit(None, limit)
      case where =>
        val id = FlareId.random()
        val isAskedOnce = where == SchedulerHost.Here && !Waiting.isPart(request)
        val once = if isHeld(request) then longest else limit
        val answer =
          if isAskedOnce then submit(Some(id), once)
          else Repeated(id, request, submit(Some(id), _)).first(within)
        // A caller that got no answer cannot find the flare: it must not run after that.
        answer.andThen:
          case Failure(_) if request.submission.isEmpty && host() != SchedulerHost.OfFormerRelease =>
            scheduler ! Cancel(id, CancelledBy.StoreFailure, system.ignoreRef)

  private final class Repeated(
      id: FlareId,
      request: FlareRequest,
      submit: FiniteDuration => Future[Submitted]
  ):
    private val pause = Submitting.pause(request)

    /** Nobody else resubmits a part of a sequence when the database fails. */
    private val isPatient = Waiting.isPart(request)

    def first(left: FiniteDuration): Future[Submitted] =
      val began = Deadline.now
      submit(Patience).transformWith:
        case Failure(silent: TimeoutException) => again(left - Patience, Patience * 2, Failure(silent))
        case Success(answer: Submitted.NotStored) if isPatient => soon(left, began, Patience * 2, answer)
        case answer => Future.fromTry(answer)

    /** The time that the store takes to fail counts. */
    private def soon(
        left: FiniteDuration,
        began: Deadline,
        patience: FiniteDuration,
        last: Submitted
    ): Future[Submitted] =
      val rest = left - (Deadline.now - began) - StorePause
      if rest <= Duration.Zero then Future.successful(last)
      else after(StorePause)(again(rest, patience, Success(last)))

    /** The flare, if it has ended; the scheduler knows the active ones. If the store cannot answer, a patient
      * caller asks again.
      */
    private def ended: Future[Option[Flare]] =
      stored(id).map(_.filter(_.state.isFinal)).recover { case _: StoreException if isPatient => None }

    /** Submits the flare again, which may have run by then, and even ended. */
    private def again(
        left: FiniteDuration,
        patience: FiniteDuration,
        last: Try[Submitted]
    ): Future[Submitted] =
      if left <= Duration.Zero then Future.fromTry(last)
      else if host() == SchedulerHost.OfFormerRelease then
        stored(id).flatMap(_.fold(Future.fromTry(last))(flare =>
          Future.successful(Submitted.Accepted(flare))
        ))
      else
        val began = Deadline.now
        submit(patience.min(left)).transformWith:
          case Failure(silent: TimeoutException) =>
            again(left - patience, patience * 2, Failure(silent))
          case Failure(cause) => Future.failed(cause)
          case Success(answer @ Submitted.Refused(refusal)) =>
            ended.flatMap:
              case Some(flare) => Future.successful(Submitted.Accepted(flare))
              // The scheduler has just started, and holds no large flares until its invokers have registered.
              case None if refusal.isOfFewInvokers && left > pause =>
                after(pause)(again(left - pause, patience, last))
              case None => Future.successful(answer)
          // A flare that has ended cannot be stored again.
          case Success(answer: Submitted.NotStored) =>
            ended.flatMap:
              case Some(flare) => Future.successful(Submitted.Accepted(flare))
              case None if isPatient => soon(left, began, patience, answer)
              case None => Future.successful(answer)
          case Success(answer) => Future.successful(answer)

private object Submitting:
  /** Longer than a working scheduler takes to answer ([[FlareActor.AnsweredWithin]]); doubled each time that
    * it has not.
    */
  private val Patience = FlareActor.AnsweredWithin + 2.seconds

  /** The pause between two tries to store a flare, each of which also waits for the database. */
  private val StorePause = 1.second

  /** Large flares are not sent too often. */
  private def pause(request: FlareRequest): FiniteDuration =
    if request.inputs.length <= MostHeld then 200.millis else 2.seconds

  /** The most bytes of inputs that are held: what arrived with a request is kept until it is answered, and a
    * namespace may have 2 MiB of that.
    */
  val MostHeld = 8 * 1024

  /** Whether the flare is answered at its end. */
  def isHeld(request: FlareRequest): Boolean =
    request.isUntoldBeforeItsEnd && request.inputs.length <= MostHeld

/** Where the scheduler is. */
enum SchedulerHost:
  /** In this process, and nowhere else while that lives. */
  case Here

  /** On this or another controller, and maybe soon on another one. */
  case OnSomeController

  /** The same, and possibly on a controller of a release that takes a flare that is submitted again for a new
    * one.
    */
  case OfFormerRelease
