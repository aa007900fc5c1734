package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState, WorkerResult}
import org.apache.pekko.actor.typed.ActorRef

/** Who waits to be told of a flare: its submitter that it is stored, others how it ends. Belongs to the
  * flare's actor.
  */
private[scheduler] final class FlareSubscribers:
  import GangScheduler.{Awaited, Submitted}

  private var submitter = Option.empty[ActorRef[Submitted]]
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

  def submits(replyTo: ActorRef[Submitted]): Unit = submitter = Some(replyTo)
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
    waiters.foreach(_ ! outcome)
    cancellers.foreach(
      _ ! (if flare.state == FlareState.Cancelled then CancelOutcome.Accepted else CancelOutcome.AlreadyEnded)
    )
    waiters = Vector.empty
    cancellers = Vector.empty

  private def outcome: Awaited =
    announced.filterNot(_ => superseded).fold(Awaited.NotActive)(Awaited.Ended(_, results))
