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

/** Submits flares to the scheduler, by ids that are given here. Where that may move to another controller
  * they are asked for again by these when no answer comes, since the scheduler that they were submitted to
  * may be no more: no flare is run twice, and what nobody would ask for again (a step of a sequence, an
  * action that a rule begins) is not lost. Steps of sequences are asked for again when the database fails,
  * too. One that nobody is told of before its end is answered with that end, and need not be stored while it
  * waits.
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
    // It takes another controller a quarter of a minute to have the scheduler; a database may take longer.
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
        // A caller that got no answer has no way to the flare: it is not to run after that.
        answer.andThen:
          case Failure(_) if request.submission.isEmpty && host() != SchedulerHost.OfFormerRelease =>
            scheduler ! Cancel(id, CancelledBy.StoreFailure, system.ignoreRef)

  private final class Repeated(
      id: FlareId,
      request: FlareRequest,
      submit: FiniteDuration => Future[Submitted]
  ):
    private val pause = Submitting.pause(request)

    /** Nobody else asks again for a part of a sequence when the database fails. */
    private val isPatient = Waiting.isPart(request)

    def first(left: FiniteDuration): Future[Submitted] =
      val began = Deadline.now
      submit(Patience).transformWith:
        case Failure(silent: TimeoutException) => again(left - Patience, Patience * 2, Failure(silent))
        case Success(answer: Submitted.NotStored) if isPatient => soon(left, began, Patience * 2, answer)
        case answer => Future.fromTry(answer)

    /** The store takes its time to fail, which counts. */
    private def soon(
        left: FiniteDuration,
        began: Deadline,
        patience: FiniteDuration,
        last: Submitted
    ): Future[Submitted] =
      val rest = left - (Deadline.now - began) - StorePause
      if rest <= Duration.Zero then Future.successful(last)
      else after(StorePause)(again(rest, patience, Success(last)))

    /** The scheduler knows the flares that go on. Where the store does not say whether one has ended, a
      * patient caller asks again.
      */
    private def ended: Future[Option[Flare]] =
      stored(id).map(_.filter(_.state.isFinal)).recover { case _: StoreException if isPatient => None }

    /** It may have run meanwhile, and even have ended. */
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
              // One that has just begun, and keeps no large ones until its invokers come.
              case None if refusal.isOfFewInvokers && left > pause =>
                after(pause)(again(left - pause, patience, last))
              case None => Future.successful(answer)
          // One that has ended cannot be stored again.
          case Success(answer: Submitted.NotStored) =>
            ended.flatMap:
              case Some(flare) => Future.successful(Submitted.Accepted(flare))
              case None if isPatient => soon(left, began, patience, answer)
              case None => Future.successful(answer)
          case Success(answer) => Future.successful(answer)

private object Submitting:
  /** More than a scheduler that is well takes to answer ([[FlareActor.AnsweredWithin]]); doubled with each
    * time that it has not.
    */
  private val Patience = FlareActor.AnsweredWithin + 2.seconds

  /** Between two tries to store one, each of which takes as long as the database is waited for. */
  private val StorePause = 1.second

  /** Large ones are not sent too often. */
  private def pause(request: FlareRequest): FiniteDuration =
    if request.inputs.length <= MostHeld then 200.millis else 2.seconds

  /** Bytes of inputs: what came with a request is held until it is answered, and a namespace may have two
    * mebibytes of that.
    */
  val MostHeld = 8 * 1024

  /** Whether it is answered at its end. */
  def isHeld(request: FlareRequest): Boolean =
    request.isUntoldBeforeItsEnd && request.inputs.length <= MostHeld

/** Where the scheduler is. */
enum SchedulerHost:
  /** In this process, and nowhere else as long as that lives. */
  case Here

  /** On this or another controller, and maybe soon on another one. */
  case OnSomeController

  /** The same, and on one that may be of a release which takes a flare that is asked for again for another
    * one.
    */
  case OfFormerRelease
