package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState, WorkerResult}
import org.apache.pekko.actor.typed.ActorRef

/** The callers that wait for news of a flare: its submitter, that it is stored, or how it ends if that is
  * soon; others, how it ends. Belongs to the flare's actor.
  */
private[scheduler] final class FlareSubscribers:
  import GangScheduler.{Awaited, Submitted}

  private var submitter = Option.empty[ActorRef[Submitted]]

  /** Whether the submitter need not be answered before the flare's end. */
  private var atEnd = false

  /** Whether the flare is stored, or certain to be, so that the submitter can be answered. */
  private var isAccepted = false
  private var waiters = Vector.empty[ActorRef[Awaited]]
  private var cancellers = Vector.empty[ActorRef[CancelOutcome]]
  private var onceStored = Vector.empty[ActorRef[CancelOutcome]]
  private var announced = Option.empty[Flare]

  /** The results that are sent with it. */
  private var results = Vector.empty[WorkerResult]

  /** Whether another controller has the flare: how it ends is not known here. */
  private var superseded = false

  /** How the flare ended, once that was announced. */
  def ended: Option[Flare] = announced
  def supersede(): Unit = superseded = true

  /** Sets the submitter, which replaces an earlier one; it may be answered at the flare's end. */
  def submits(replyTo: ActorRef[Submitted], atEnd: Boolean): Unit =
    submitter = Some(replyTo)
    this.atEnd = atEnd

  def isAnswerDue: Boolean = !atEnd

  /** The flare is stored, or certain to be. */
  def accept(flare: => Flare): Unit =
    isAccepted = true
    if !atEnd then answerAccepted(flare)

  /** The flare was stored by an earlier scheduler. */
  def areLeftOne(): Unit = isAccepted = true

  /** Refuses the submission, unless the flare was already accepted: then its end is sent. */
  def refuse(submitted: => Submitted): Unit = if !isAccepted then answer(submitted)

  /** The submitter no longer waits for the end. */
  def answerIsDue(flare: => Flare): Unit =
    atEnd = false
    announced match
      case Some(ended) => answerEnd(ended)
      case None => if isAccepted then answerAccepted(flare)

  /** A flare that has just ended is announced once that is stored: nobody may take it as stored before. */
  private def answerAccepted(flare: Flare): Unit =
    if !flare.state.isFinal then answer(Submitted.Accepted(flare))

  /** Its submitter gets the answer by asking another scheduler. */
  def leaveUnanswered(): Unit = submitter = None
  def cancels(replyTo: ActorRef[CancelOutcome]): Unit = cancellers :+= replyTo

  /** Its packs are being told to end. */
  def cancelsOnceStored(replyTo: ActorRef[CancelOutcome]): Unit = onceStored :+= replyTo
  def cancelStored(): Unit =
    onceStored.foreach(_ ! CancelOutcome.Accepted)
    onceStored = Vector.empty

  def waits(replyTo: ActorRef[Awaited]): Unit =
    if announced.isEmpty then waiters :+= replyTo else replyTo ! outcome

  /** Answers the submission, once. */
  def answer(submitted: => Submitted): Unit =
    submitter.foreach(_ ! submitted)
    submitter = None

  def announce(flare: Flare, told: Vector[WorkerResult] = Vector.empty): Unit =
    announced = Some(flare)
    results = told
    answerEnd(flare)
    waiters.foreach(_ ! outcome)
    cancellers.foreach(
      _ ! (if flare.state == FlareState.Cancelled then CancelOutcome.Accepted else CancelOutcome.AlreadyEnded)
    )
    waiters = Vector.empty
    cancellers = Vector.empty

  private def answerEnd(ended: Flare): Unit =
    if superseded then leaveUnanswered() else answer(Submitted.Accepted(ended, results))

  private def outcome: Awaited =
    announced.filterNot(_ => superseded).fold(Awaited.NotActive)(Awaited.Ended(_, results))
