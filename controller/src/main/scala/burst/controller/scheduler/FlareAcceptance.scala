package burst.controller.scheduler

import burst.controller.flare.Flare
import burst.controller.store.{AlreadySubmitted, FlareTaken, PackageGone, Superseded}
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.scaladsl.TimerScheduler
import scala.concurrent.duration.DurationInt

/** What is stored of a flare before it goes on, and what whoever submitted it is told meanwhile. Belongs to
  * the flare's actor.
  */
private[scheduler] final class FlareAcceptance(
    arrival: FlareActor.Arrival,
    isUntoldBeforeItsEnd: Boolean,
    storing: FlareStoring,
    subscribers: FlareSubscribers,
    timers: TimerScheduler[FlareActor.Command],
    environment: FlareEnvironment
):
  import FlareActor.{AnswerDue, AnsweredWithin, Arrival, WriteProgress}
  import FlareLifecycle.Stage
  import GangScheduler.Submitted

  /** If it is lost, its submitter asks again. */
  private val isAskedForAgain = arrival match
    case Arrival.Accepted(_, _, _, isAskedForAgain) => isAskedForAgain && environment.adoption.isDefined
    case _ => false

  /** Nobody else needs to find it in the store before it begins, or even later. */
  private val beginsUnstored = isUntoldBeforeItsEnd && environment.beginsUnstored

  /** Its packs are there, or it has not been placed yet. */
  private var onWarm = true

  /** It is about to begin without having been stored. */
  private var isDeferred = false

  arrival match
    case Arrival.Accepted(replyTo, placed, isAnsweredAtEnd, _) =>
      subscribers.submits(replyTo, isAnsweredAtEnd)
      if isAnsweredAtEnd then timers.startSingleTimer(AnswerDue, AnswerDue, AnsweredWithin)
      placed.foreach(this.placed)
    case Arrival.Recovered | Arrival.InDoubt | Arrival.Adopted => subscribers.areLeftOne()

  def placed(how: FlareActor.Placed): Unit = onWarm = how.isWarm

  /** Whether it is to go on as if it were stored. */
  def takeDeferred(): Boolean =
    val was = isDeferred
    isDeferred = false
    was

  /** What is to be stored before it goes on. */
  def confirm(flare: Flare, life: FlareLifecycle): Unit =
    val isNew = storing.isUntouched && environment.health.isWell
    life.stage match
      case Stage.Waiting | Stage.Placing if isNew && beginsUnstored && onWarm => defer(flare, life)
      // Should this scheduler be gone when its turn comes, it is asked for again.
      case Stage.Waiting if isNew && isAskedForAgain && !subscribers.isAnswerDue => ()
      case _ => storing.confirm(flare)

  /** One that nobody is told of before its end need not be stored before it begins on a pack that is there:
    * should this process end first, whoever waits is told nothing either (docs/adr/0084). Another scheduler
    * that takes over would not know of it, and one that finds it stored as waiting would run it. It goes on
    * as if it were stored, which it soon is.
    */
  private def defer(flare: Flare, life: FlareLifecycle): Unit =
    isDeferred = life.stage == Stage.Placing
    storing.defer(flare, begins = isDeferred)
    subscribers.accept(life.record)
    if !timers.isTimerActive(WriteProgress) then
      val within = environment.settings.progressInterval.min(FlareAcceptance.LongestDeferral)
      timers.startSingleTimer(WriteProgress, WriteProgress, within)

  /** The answer to its submission has not come: this is where it is to go. */
  def submittedAgain(replyTo: ActorRef[Submitted], life: FlareLifecycle): Unit =
    subscribers.submits(replyTo, atEnd = false)
    answerNow(life)

  /** Its submitter is told now what it is, unless it was told already: of one that nothing is stored of, once
    * it is.
    */
  def answerNow(life: FlareLifecycle): Unit =
    timers.cancel(AnswerDue)
    subscribers.answerIsDue(life.record)
    if life.stage == Stage.Waiting && storing.isUntouched then storing.confirm(life.record)

  /** It cannot be stored. */
  def failed(operation: String, cause: Throwable): Unit =
    subscribers.cancelStored()
    if cause.isInstanceOf[FlareTaken] then subscribers.supersede()
    if isLeftToAnother(cause) then
      subscribers.leaveUnanswered()
      subscribers.supersede()
    subscribers.refuse(cause match
      case _: PackageGone => Submitted.Refused(Refusal.PackageGone)
      case _: AlreadySubmitted => Submitted.Refused(Refusal.AlreadySubmitted)
      case _ => Submitted.NotStored(operation, cause))

  /** The scheduler that has taken over goes on with it. */
  def taken(operation: String, taken: FlareTaken, life: FlareLifecycle): Unit =
    if isLeftToAnother(taken) then subscribers.leaveUnanswered()
    subscribers.supersede()
    subscribers.answer(Submitted.NotStored(operation, taken))
    subscribers.announce(life.record)

  /** The scheduler that has taken over is asked for it again. */
  private def isLeftToAnother(cause: Throwable): Boolean = cause match
    case _: (Superseded | FlareTaken) => isAskedForAgain
    case _ => false

private object FlareAcceptance:
  /** How long a flare may run that is not stored. */
  private val LongestDeferral = 100.millis
