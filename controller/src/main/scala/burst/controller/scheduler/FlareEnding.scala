package burst.controller.scheduler

import burst.controller.flare.{FlareState, WorkerRecord, WorkerState}
import burst.protocol.{Failure, FailureKind, InvokerId, Operation}
import scala.concurrent.duration.FiniteDuration

/** Why a flare does not succeed. `provisional` while it is not known who caused it: a peer's own failure, if
  * it arrives in time, replaces that of a worker that failed because of it; and which workers kept a flare
  * from ending in time shows in what they were doing.
  */
final case class Cause(state: FlareState, failure: Failure, provisional: Boolean = false):

  /** The state in which workers that never reported are shown. */
  def workerState: WorkerState =
    if state == FlareState.Cancelled then WorkerState.Cancelled else WorkerState.Failed

  /** Why a worker that never reported has no output: the flare's time-out or cancellation counts as its own,
    * the failure of another worker as a peer's.
    */
  def of(worker: WorkerRecord, progress: AttemptProgress): Failure =
    val (kind, message) = state match
      case FlareState.Cancelled => (FailureKind.Cancelled, failure.message)
      case FlareState.TimedOut => (FailureKind.Timeout, "the flare's time-out passed before the worker ended")
      case _ if failure.kind == FailureKind.ControllerRestarted => (failure.kind, failure.message)
      case _ => (FailureKind.PeerFailed, s"ended because ${FlareEnding.describe(failure)}")
    Failure(
      kind,
      message,
      Some(worker.worker),
      worker.pack,
      progress.invokerOf(worker),
      Some(if worker.started.isDefined then Operation.Work else Operation.Start)
    )

/** The rules of a flare's end that need no state: what is retried, which failure takes precedence, and how
  * causes are worded.
  */
object FlareEnding:

  /** Whether another attempt may well avoid the failure. A caller that sets `retries` wants the function's
    * own errors to be retried too (a flaky service it calls, a shortage of memory). Never retried: failures
    * that would repeat (an invalid input), what somebody wanted (cancellation), the flare's time-out, which
    * has used up all the time, and failures that the controller cannot vouch for (its own or the store's).
    */
  def retriable(cause: Cause): Boolean =
    cause.state == FlareState.Failed && !NotRetried(cause.failure.kind)

  /** Whether a start failed because of the machine, not the program. */
  def isOfMachine(failure: Failure): Boolean = failure.kind match
    case FailureKind.PackLost | FailureKind.InvokerLost => true
    case FailureKind.StartFailed => !failure.operation.contains(Operation.Init)
    case _ => false

  private val NotRetried =
    Set(
      FailureKind.Cancelled,
      FailureKind.InvalidInput,
      FailureKind.ControllerRestarted,
      FailureKind.Internal
    )

  /** The decisive one of several failures that arrive together: the first that is not a mere consequence. */
  def decisive(failures: Vector[Failure]): Option[Failure] = failures.find(_.kind != FailureKind.PeerFailed)

  /** A failure that arrives after the packs were told to end and explains a provisional cause, if any: one
    * that a pack does not end with because it was told to.
    */
  def revealing(failures: Vector[Failure]): Option[Failure] =
    failures.find(failure => !AttemptProgress.Consequences(failure.kind))

  /** The cause if its peers have lost a pack that no longer reports. */
  def silent(pack: Failure, ofPeer: Failure): Cause =
    Cause(FlareState.Failed, pack.copy(message = s"${pack.message}; ${describe(ofPeer)}"))

  def cancelled(by: CancelledBy, isGroup: Boolean): Cause =
    val message = by match
      case CancelledBy.User if isGroup => "the group was closed"
      case CancelledBy.User => "the flare was cancelled"
      case CancelledBy.Administrator if isGroup => "the administrator closed the group"
      case CancelledBy.Administrator => "the administrator cancelled the flare"
      case CancelledBy.Revocation => "the namespace was revoked"
      case CancelledBy.StoreFailure =>
        "it could not be stored in time, and whoever asked for it was told so"
    Cause(FlareState.Cancelled, Failure(FailureKind.Cancelled, message))

  def idle(timeout: FiniteDuration): Cause =
    Cause(
      FlareState.TimedOut,
      Failure(FailureKind.Timeout, s"no flare came to the group for ${timeout.toCoarsest}")
    )

  val groupEnded: Cause = Cause(
    FlareState.Failed,
    Failure(FailureKind.PackLost, "the group ended before the flare began", operation = Some(Operation.Queue))
  )

  def internal(message: String): Cause =
    Cause(FlareState.Failed, Failure(FailureKind.Internal, message, operation = Some(Operation.Store)))

  /** Something could not be stored, and all retries are used up. */
  def notStored(why: StorageFailure): Cause =
    internal(s"${missing(why)}; run the flare again once ${why.problem.remedy}")

  private def missing(why: StorageFailure): String =
    val what = why.workers.toVector.sorted match
      case Vector() => "the flare could not be stored"
      case Vector(one) => s"the output of worker $one could not be kept"
      case many => s"the outputs of ${listed(many)} could not be kept"
    s"$what, as ${why.problem.reason}"

  /** An invoker registered with another scheduler without a pack that it had been asked for; if it is
    * `unbroken`, it never received that request.
    */
  def notKept(invoker: InvokerId, unbroken: Boolean): Failure =
    if unbroken then
      Failure(
        FailureKind.ControllerRestarted,
        "the controller was replaced before the pack was asked for",
        operation = Some(Operation.Start)
      )
    else
      Failure(
        FailureKind.InvokerLost,
        s"invoker ${invoker.value} no longer had the pack when the controller was replaced",
        operation = Some(Operation.Work)
      )

  /** The cause for which another scheduler was ending a flare. */
  def known(failure: Failure): Cause = failure.kind match
    case FailureKind.Cancelled => Cause(FlareState.Cancelled, failure)
    case FailureKind.Timeout => Cause(FlareState.TimedOut, failure)
    case _ => Cause(FlareState.Failed, failure)

  def waitedTooLong(size: Int, limit: String): Cause = Cause(
    FlareState.TimedOut,
    Failure(
      FailureKind.Timeout,
      s"the flare waited $limit for $size free slots at once and did not get them",
      operation = Some(Operation.Queue)
    )
  )

  def inputsTooSlow(limit: String): Cause = Cause(
    FlareState.TimedOut,
    Failure(
      FailureKind.Timeout,
      s"the flare's inputs were not read within $limit: the memory for large ones was taken by other flares",
      operation = Some(Operation.Queue)
    )
  )

  def startTooSlow(progress: AttemptProgress, limit: String): Cause =
    val slow = progress.firstUnready
    Cause(
      FlareState.Failed,
      Failure(
        FailureKind.StartFailed,
        s"${progress.stages.length - progress.ready} of ${progress.stages.length} packs were not ready within $limit",
        pack = slow.map(_.pack),
        invoker = slow.map(_.invoker),
        operation = Some(Operation.Start)
      )
    )

  /** The flare's time is up. The workers responsible are known once its packs have reported what their
    * workers were doing ([[keptBy]]); the workers of a pack that is not ready are doing nothing yet.
    */
  def timedOut(progress: AttemptProgress, timeout: FiniteDuration): Cause =
    val late =
      Failure(FailureKind.Timeout, s"the flare did not end within its time-out of ${timeout.toCoarsest}")
    progress.firstUnready.fold(Cause(FlareState.TimedOut, late, provisional = true)): slow =>
      val unready =
        s"${progress.stages.length - progress.ready} of ${progress.stages.length} packs were not ready"
      val failure = late.copy(message = s"${late.message}: $unready", operation = Some(Operation.Start))
      Cause(FlareState.TimedOut, failure.at(slow.invoker, slow.pack))

  /** Names the workers that kept a flare from ending in time: among those that had not ended, the ones that
    * ran, as the others waited for them. If none is known to have run, the platform did, if there are outputs
    * that it could not keep (`storageFailure`), else nobody. Returns nothing if all workers have succeeded,
    * with their reports arriving late.
    */
  def keptBy(late: Cause, progress: AttemptProgress, storageFailure: Option[StorageFailure]): Option[Cause] =
    Option.when(progress.workers.exists(_.state != WorkerState.Succeeded)):
      val (ran, waited) = progress.workers
        .filter(_.error.exists(_.kind == FailureKind.Timeout))
        .partition(_.error.flatMap(_.operation).contains(Operation.Work))
      storageFailure match
        case Some(why) if ran.isEmpty =>
          val held = notStored(why)
          held.copy(failure =
            held.failure.copy(message = s"${late.failure.message}: ${held.failure.message}")
          )
        case _ => blamed(late, progress, storageFailure, ran, waited)

  private def blamed(
      late: Cause,
      progress: AttemptProgress,
      storageFailure: Option[StorageFailure],
      ran: Vector[WorkerRecord],
      waited: Vector[WorkerRecord]
  ): Cause =
    val silent = progress.unresolved.toVector
    val failure = (ran.headOption, waited.headOption) match
      case (Some(first), _) =>
        val others = Option.when(waited.nonEmpty)(s"${count(waited, "worker")} waited for others")
        val unheard = Option.when(silent.nonEmpty)(s"${count(silent, "worker")} did not report")
        val all =
          s"${named(ran)} still computing" +: Vector(others, unheard, storageFailure.map(missing)).flatten
        late.failure.copy(
          message = s"${late.failure.message}: ${all.mkString(", ")}",
          worker = Some(first.worker),
          pack = first.pack,
          invoker = progress.invokerOf(first),
          operation = Some(Operation.Work)
        )
      case (None, _) if silent.nonEmpty =>
        late.failure.copy(message = s"${late.failure.message}; what ${named(silent)} doing is not known")
      case (None, Some(first)) =>
        val waits = first.error.fold("")(error => s" (worker ${first.worker}: ${error.message})")
        late.failure.copy(
          message =
            s"${late.failure.message}: ${named(waited)} waiting for others and none was computing$waits",
          operation = first.error.flatMap(_.operation)
        )
      case (None, None) => late.failure
    late.copy(failure = failure)

  /** `worker 1 was`, `workers 1 and 2 were`, `workers 1, 2 and 5 more were`. */
  private def named(workers: Vector[WorkerRecord]): String =
    s"${listed(workers.map(_.worker))} ${if workers.length == 1 then "was" else "were"}"

  private def listed(workers: Vector[Int]): String = workers match
    case Vector(one) => s"worker $one"
    case Vector(one, other) => s"workers $one and $other"
    case Vector(one, other, third) => s"workers $one, $other and $third"
    case many => s"workers ${many(0)}, ${many(1)} and ${many.length - 2} more"

  private def count(items: Vector[?], name: String): String =
    if items.length == 1 then s"1 $name" else s"${items.length} ${name}s"

  /** A failure in a sentence, for the errors of those that ended because of it. */
  def describe(failure: Failure): String =
    val who = Vector(
      failure.worker.map(worker => s"worker $worker"),
      failure.pack.map(pack => s"pack $pack"),
      failure.invoker.map(invoker => s"invoker ${invoker.value}")
    ).flatten.mkString(", ")
    val during = failure.operation.fold("")(operation => s" during $operation")
    if who.isEmpty then failure.message else s"$who failed$during: ${failure.message}"
