package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState, LogText, OutputPiece, PhaseMark, WorkerResult}
import burst.controller.placement.Plan
import burst.controller.secrets.UnopenedSecret
import burst.protocol.{Failure, InvokerId, PackReport, Timestamp}

/** The waits of a flare; each has an end. How long they are is in [[SchedulerSettings]]. */
enum FlareTimer:
  /** In the queue. */
  case Queue

  /** From the slots being reserved until what packs are to be given is read: as long as in the queue. */
  case Inputs

  /** From the packs being asked for until every one is ready. */
  case Start

  /** The flare's own time-out. Runs from the moment its packs are asked for: waiting for slots is not
    * counted, starting them is. Of a group: the time without a flare.
    */
  case Deadline

  /** From a worker that failed because of a peer until the peer's own failure is given up on. */
  case PeerGrace

  /** From the packs being told to end until they are given up on. */
  case Abort

  /** From then on, where the flare is to be tried again: until machines that may be lost are known to be, as
    * two attempts never overlap; or from when a clean-up is late until it is given up on.
    */
  case Loss

  /** For the clean-up of the backend. */
  case Clean

/** Why the controller cannot go on with a flare, whatever its packs do. */
enum Breakage(val message: String):
  case Defect(cause: Throwable) extends Breakage(s"the controller failed: ${cause.getMessage}")
  case InputsUnreadable extends Breakage("the flare's inputs cannot be read")
  case BackendGone(name: String) extends Breakage(s"the backend '$name' is not configured any more")
  case SecretUnopened(secret: UnopenedSecret) extends Breakage(secret.message)

/** What happens to a flare. Times are the controller's. */
enum FlareEvent:
  /** The scheduler reserved every slot of the plan. */
  case Placed(attempt: Int, plan: Plan, at: Timestamp)

  /** The record stored for `attempt` in `state` is durable. */
  case Stored(attempt: Int, state: FlareState, at: Timestamp)

  /** The store is given up on, and with it outputs of the workers that are named. */
  case StoreFailed(storageFailure: StorageFailure, at: Timestamp)

  /** The workers' outputs are on this controller's disk, or cannot be put there for now. */
  case Gathered(storageFailure: Option[StorageFailure])

  /** What the packs of `attempt` are to be given is at hand. */
  case InputsRead(attempt: Int, at: Timestamp)
  case Reported(report: PackReport, at: Timestamp)
  case InvokerLost(invoker: InvokerId, loss: InvokerLoss, at: Timestamp)

  /** To a flare that another scheduler had: an invoker is there, and has these packs of it still; all that it
    * was ever asked for where it is `unbroken`, or where the flare was placed `since`.
    */
  case PacksHeld(
      invoker: InvokerId,
      packs: Set[Int],
      unbroken: Boolean,
      since: Option[Timestamp],
      at: Timestamp
  )
  case Cancel(at: Timestamp, by: CancelledBy = CancelledBy.User)

  /** Its group has ended. A flare whose packs were asked for hears of their end. */
  case GroupEnded(at: Timestamp)
  case Expired(timer: FlareTimer, attempt: Int, at: Timestamp)
  case Cleaned(error: Option[Failure], at: Timestamp)

  /** The flare ends rather than hangs. */
  case Broken(why: Breakage, at: Timestamp)

/** What is to be done, in this order, after a step. */
enum FlareEffect:
  /** Store the record; with `confirm`, answer with [[FlareEvent.Stored]] or [[FlareEvent.StoreFailed]]. */
  case Store(flare: Flare, confirm: Boolean)

  /** The record changed in something nobody waits for; store it before long. */
  case Progress
  case StoreResults(results: Vector[WorkerResult])

  /** Parts of outputs that are kept apart. */
  case StoreOutputs(pieces: Vector[OutputPiece])
  case StoreLogs(texts: Vector[LogText])
  case StorePhases(marks: Vector[PhaseMark])

  /** Forget the results, logs and phases of the attempt that ended. */
  case ClearAttempt

  /** Have at hand what packs are to be given; answered with [[FlareEvent.InputsRead]], or with
    * [[FlareEvent.Broken]].
    */
  case ReadInputs
  case Prepare(plan: Plan)
  case Start(endpoints: Vector[Option[String]])
  case Abort(packs: Vector[Int], failure: Failure)

  /** Hear what these packs have to tell. */
  case Adopt(packs: Vector[Int])

  /** These packs are dead (or were never asked for): their slots are free. */
  case Release(attempt: Int, packs: Vector[Int])

  /** These packs need only so many slots any more, as workers of theirs have ended. */
  case Shrink(attempt: Int, slots: Vector[(Int, Int)])
  case Clean
  case SetTimer(timer: FlareTimer)
  case StopTimer(timer: FlareTimer)

  /** Into the queue again, for the next attempt; best not on the machine to `avoid`. `why` says what the
    * cluster had no room for, where that is what ended the last one.
    */
  case Requeue(attempt: Int, avoid: Option[InvokerId] = None, why: Option[String] = None)

  /** What became of packs' starts. */
  case Starts(outcomes: Vector[StartOutcome])

  /** Out of the queue. */
  case LeaveQueue

  /** The group's packs wait for flares. */
  case Open

  /** For the operator's log. */
  case Note(message: String)

  /** The flare has ended; tell whoever waits for it. Once in a flare's life. */
  case Announce(flare: Flare)

  /** Nothing of the flare is left anywhere. */
  case Retire
