package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState, WorkerResult}
import org.apache.pekko.actor.typed.ActorRef

/** Those who wait for news of a flare: its submitter that it is stored, or how it ends if that is soon,
  * others how it ends. Belongs to the flare's actor.
  */
private[scheduler] final class FlareSubscribers:
  import GangScheduler.{Awaited, Submitted}

  private var submitter = Option.empty[ActorRef[Submitted]]

  /** The submitter need not be told before the flare's end. */
  private var atEnd = false

  /** What the submitter can be told of is stored, or will be. */
  private var isAccepted = false
  private var waiters = Vector.empty[ActorRef[Awaited]]
  private var cancellers = Vector.empty[ActorRef[CancelOutcome]]
  private var onceStored = Vector.empty[ActorRef[CancelOutcome]]
  private var announced = Option.empty[Flare]

  /** Those that are told with it. */
  private var results = Vector.empty[WorkerResult]

  /** Another controller has the flare: how it ends is not known here. */
  private var superseded = false

  /** How the flare ended, once that was told. */
  def ended: Option[Flare] = announced
  def supersede(): Unit = superseded = true

  /** A submitter, which replaces an earlier one; it may be told at the flare's end. */
  def submits(replyTo: ActorRef[Submitted], atEnd: Boolean): Unit =
    submitter = Some(replyTo)
    this.atEnd = atEnd

  def isAnswerDue: Boolean = !atEnd

  /** It is stored, or will be. */
  def accept(flare: => Flare): Unit =
    isAccepted = true
    if !atEnd then answerAccepted(flare)

  /** Another scheduler has left a flare, which is stored. */
  def areLeftOne(): Unit = isAccepted = true

  /** There is no such flare, unless there was one already: then its end is told. */
  def refuse(submitted: => Submitted): Unit = if !isAccepted then answer(submitted)

  /** The submitter waits no longer for the end. */
  def answerIsDue(flare: => Flare): Unit =
    atEnd = false
    announced match
      case Some(ended) => answerEnd(ended)
      case None => if isAccepted then answerAccepted(flare)

  /** One that ends just now is announced once that is stored: nobody is to take it for stored before. */
  private def answerAccepted(flare: Flare): Unit =
    if !flare.state.isFinal then answer(Submitted.Accepted(flare))

  /** Its submitter finds out by asking another scheduler. */
  def leaveUnanswered(): Unit = submitter = None
  def cancels(replyTo: ActorRef[CancelOutcome]): Unit = cancellers :+= replyTo

  /** Its packs are being told to end. */
  def cancelsOnceStored(replyTo: ActorRef[CancelOutcome]): Unit = onceStored :+= replyTo
  def cancelStored(): Unit =
    onceStored.foreach(_ ! CancelOutcome.Accepted)
    onceStored = Vector.empty

  def waits(replyTo: ActorRef[Awaited]): Unit =
    if announced.isEmpty then waiters :+= replyTo else replyTo ! outcome

  /** What became of the submission is told once. */
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
