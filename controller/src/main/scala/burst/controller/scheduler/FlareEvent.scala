package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState, LogText, OutputPiece, PhaseMark, WorkerResult}
import burst.controller.placement.Plan
import burst.controller.secrets.UnopenedSecret
import burst.protocol.{Failure, InvokerId, PackId, PackReport, Timestamp}

/** The timers of a flare's waits, all of which are limited. [[SchedulerSettings]] has their durations. */
enum FlareTimer:
  /** In the queue. */
  case Queue

  /** Runs from the reservation of the slots until the packs' inputs are read: as long as in the queue. */
  case Inputs

  /** Runs from the request for the packs until all are ready. */
  case Start

  /** The flare's own time-out. Runs from the moment its packs are requested: it includes starting them, but
    * not waiting for slots. For a group: the time without a flare.
    */
  case Deadline

  /** From the failure of a worker because of a peer until the wait for the peer's own failure is given up. */
  case PeerGrace

  /** From the packs being told to end until they are given up on. */
  case Abort

  /** From then on, if the flare is to be retried: until machines that may be lost are known to be, as two
    * attempts never overlap; or from a clean-up being late until it is given up on.
    */
  case Loss

  /** For the clean-up of the backend. */
  case Clean

/** Why the controller cannot continue a flare, whatever its packs do. */
enum Breakage(val message: String):
  case Defect(cause: Throwable) extends Breakage(s"the controller failed: ${cause.getMessage}")
  case InputsUnreadable extends Breakage("the flare's inputs cannot be read")
  case BackendGone(name: String) extends Breakage(s"the backend '$name' is not configured any more")
  case SecretUnopened(secret: UnopenedSecret) extends Breakage(secret.message)

/** The events in a flare's life. Times are the controller's. */
enum FlareEvent:
  /** The scheduler reserved every slot of the plan. */
  case Placed(attempt: Int, plan: Plan, at: Timestamp)

  /** The record stored for `attempt` in `state` is durable. */
  case Stored(attempt: Int, state: FlareState, at: Timestamp)

  /** The store is given up on, and with it the outputs of the workers that are named. */
  case StoreFailed(storageFailure: StorageFailure, at: Timestamp)

  /** The workers' outputs are on this controller's disk, or cannot be written to it for now. */
  case Gathered(storageFailure: Option[StorageFailure])

  /** The inputs for the packs of `attempt` are available. */
  case InputsRead(attempt: Int, at: Timestamp)
  case Reported(report: PackReport, at: Timestamp)
  case InvokerLost(invoker: InvokerId, loss: InvokerLoss, at: Timestamp)

  /** To a flare that another scheduler had: an invoker is back and still has these packs of it. They are all
    * that were ever requested from it if it is `unbroken`, or if the flare was placed after `since`.
    */
  case PacksHeld(
      invoker: InvokerId,
      packs: Set[PackId],
      unbroken: Boolean,
      since: Option[Timestamp],
      at: Timestamp
  )
  case Cancel(at: Timestamp, by: CancelledBy = CancelledBy.User)

  /** Its group has ended. A flare whose packs were requested is notified of their end. */
  case GroupEnded(at: Timestamp)
  case Expired(timer: FlareTimer, attempt: Int, at: Timestamp)
  case Cleaned(error: Option[Failure], at: Timestamp)

  /** The controller cannot continue the flare: it ends rather than hangs. */
  case Broken(why: Breakage, at: Timestamp)

/** The effects to carry out after a step, in this order. */
enum FlareEffect:
  /** Store the record; with `confirm`, answer with [[FlareEvent.Stored]] or [[FlareEvent.StoreFailed]]. */
  case Store(flare: Flare, confirm: Boolean)

  /** The record changed in something nobody waits for; it must be stored soon. */
  case Progress
  case StoreResults(results: Vector[WorkerResult])

  /** Parts of out-of-line outputs. */
  case StoreOutputs(pieces: Vector[OutputPiece])
  case StoreLogs(texts: Vector[LogText])
  case StorePhases(marks: Vector[PhaseMark])

  /** Forget the results, logs and phases of the attempt that ended. */
  case ClearAttempt

  /** Read the inputs for the packs; answered with [[FlareEvent.InputsRead]], or with [[FlareEvent.Broken]].
    */
  case ReadInputs
  case Prepare(plan: Plan)
  case Start(endpoints: Vector[Option[String]])
  case Abort(packs: Vector[PackId], failure: Failure)

  /** Receive the reports of these packs. */
  case Adopt(packs: Vector[PackId])

  /** These packs are dead (or were never requested): their slots are free. */
  case Release(attempt: Int, packs: Vector[PackId])

  /** These packs now need only this many slots, as some of their workers have ended. */
  case Shrink(attempt: Int, slots: Vector[(PackId, Int)])
  case Clean
  case SetTimer(timer: FlareTimer)
  case StopTimer(timer: FlareTimer)

  /** Queue the flare again for its next attempt, preferably not on the machine to `avoid`. `why` says what
    * the cluster had no room for, if that is what ended the last one.
    */
  case Requeue(attempt: Int, avoid: Option[InvokerId] = None, noRoom: Option[Failure] = None)

  /** The outcomes of packs' starts. */
  case Starts(outcomes: Vector[StartOutcome])

  /** Out of the queue. */
  case LeaveQueue

  /** The group's packs wait for flares. */
  case Open

  /** For the operator's log. */
  case Note(message: String)

  /** The flare has ended; notify callers that wait for it. Once in a flare's life. */
  case Announce(flare: Flare)

  /** Nothing of the flare is left anywhere. */
  case Retire
