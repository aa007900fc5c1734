package burst.controller.scheduler

import burst.controller.flare.Flare
import burst.controller.store.{AlreadySubmitted, FlareTaken, PackageGone, Superseded}
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.scaladsl.TimerScheduler
import scala.concurrent.duration.DurationInt

/** Decides what is stored of a flare before it proceeds, and what its submitter is sent in the meantime.
  * Belongs to the flare's actor.
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

  /** Whether its submitter asks again if the flare is lost. */
  private val isAskedForAgain = arrival match
    case Arrival.Accepted(_, _, _, isAskedForAgain) => isAskedForAgain && environment.adoption.isDefined
    case _ => false

  /** Whether nobody else needs to find it in the store before it begins, or even later. */
  private val beginsUnstored = isUntoldBeforeItsEnd && environment.beginsUnstored

  /** Whether its packs are warm, or it has not been placed yet. */
  private var onWarm = true

  /** Whether it is about to begin without having been stored. */
  private var isDeferred = false

  arrival match
    case Arrival.Accepted(replyTo, placed, isAnsweredAtEnd, _) =>
      subscribers.submits(replyTo, isAnsweredAtEnd)
      if isAnsweredAtEnd then timers.startSingleTimer(AnswerDue, AnswerDue, AnsweredWithin)
      placed.foreach(this.placed)
    case Arrival.Recovered | Arrival.InDoubt | Arrival.Adopted => subscribers.areLeftOne()

  def placed(how: FlareActor.Placed): Unit = onWarm = how.isWarm

  /** Returns, once, whether it must proceed as if it were stored. */
  def takeDeferred(): Boolean =
    val was = isDeferred
    isDeferred = false
    was

  /** Stores the flare before it proceeds, or defers that. */
  def confirm(flare: Flare, life: FlareLifecycle): Unit =
    val isNew = storing.isUntouched && environment.health.isWell
    life.stage match
      case Stage.Waiting | Stage.Placing if isNew && beginsUnstored && onWarm => defer(flare, life)
      // If this scheduler has ended when the flare's turn comes, its submitter asks again.
      case Stage.Waiting if isNew && isAskedForAgain && !subscribers.isAnswerDue => ()
      case _ => storing.confirm(flare)

  /** A flare that nobody learns of before its end need not be stored before it begins on a warm pack: if this
    * process ends first, its submitter gets no answer either (docs/adr/0084). Another scheduler that takes
    * over would not know of it, and if it found the flare stored as waiting it would run it. The flare
    * proceeds as if it were stored, which it soon is.
    */
  private def defer(flare: Flare, life: FlareLifecycle): Unit =
    isDeferred = life.stage == Stage.Placing
    storing.defer(flare, begins = isDeferred)
    subscribers.accept(life.record)
    if !timers.isTimerActive(WriteProgress) then
      val within = environment.settings.progressInterval.min(FlareAcceptance.LongestDeferral)
      timers.startSingleTimer(WriteProgress, WriteProgress, within)

  /** The submission's answer has not arrived: it must go to `replyTo`. */
  def submittedAgain(replyTo: ActorRef[Submitted], life: FlareLifecycle): Unit =
    subscribers.submits(replyTo, atEnd = false)
    answerNow(life)

  /** Answers its submitter now with the flare's state, unless that was done already; if nothing of the flare
    * is stored, once it is.
    */
  def answerNow(life: FlareLifecycle): Unit =
    timers.cancel(AnswerDue)
    subscribers.answerIsDue(life.record)
    if life.stage == Stage.Waiting && storing.isUntouched then storing.confirm(life.record)

  /** The flare cannot be stored. */
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

  /** The scheduler that has taken over continues the flare. */
  def taken(operation: String, taken: FlareTaken, life: FlareLifecycle): Unit =
    if isLeftToAnother(taken) then subscribers.leaveUnanswered()
    subscribers.supersede()
    subscribers.answer(Submitted.NotStored(operation, taken))
    subscribers.announce(life.record)

  /** Whether the scheduler that has taken over will be asked for the flare again. */
  private def isLeftToAnother(cause: Throwable): Boolean = cause match
    case _: (Superseded | FlareTaken) => isAskedForAgain
    case _ => false

private object FlareAcceptance:
  /** How long a flare may run without being stored. */
  private val LongestDeferral = 100.millis
