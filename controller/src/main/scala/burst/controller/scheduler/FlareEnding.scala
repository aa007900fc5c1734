package burst.controller.scheduler

import burst.controller.flare.{FlareState, WorkerRecord, WorkerState}
import burst.protocol.{Failure, FailureKind, InvokerId, Operation}
import scala.concurrent.duration.FiniteDuration

/** Why a flare ends otherwise than well. `provisional` while it is not known who it was: a peer's own failure
  * replaces that of one who failed because of it when it is heard of in time; and who kept a flare from
  * ending in time shows in what its workers then were at.
  */
final case class Cause(state: FlareState, failure: Failure, provisional: Boolean = false):

  /** How the workers that never reported are shown. */
  def workerState: WorkerState =
    if state == FlareState.Cancelled then WorkerState.Cancelled else WorkerState.Failed

  /** Why a worker that never reported has no output: the flare's time-out or cancellation is its own, the
    * failure of another reaches it as a peer's.
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

/** The rules of a flare's end that need no state: what is tried again, what outweighs what, and how causes
  * read.
  */
object FlareEnding:

  /** Failures that another attempt may well not meet. A caller who sets `retries` asks for the function's own
    * errors to be tried again too (a flaky service it calls, memory that was short). Never tried again: what
    * would be the same (an invalid input), what somebody wanted (cancellation), what took all the time there
    * was (the flare's time-out), and what the controller cannot vouch for (its own or the store's failure).
    */
  def retriable(cause: Cause): Boolean =
    cause.state == FlareState.Failed && !NotRetried(cause.failure.kind)

  /** Whether a start failed by what is the machine's, and not the program's. */
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

  /** The failure that decides, of several heard of at once: the first that is not a mere consequence. */
  def decisive(failures: Vector[Failure]): Option[Failure] = failures.find(_.kind != FailureKind.PeerFailed)

  /** A failure heard of after the packs were told to end: does it explain a provisional cause? Only what a
    * pack does not end with because it was told to.
    */
  def revealing(failures: Vector[Failure]): Option[Failure] =
    failures.find(failure => !AttemptProgress.Consequences(failure.kind))

  /** Its peers have lost a pack, which does not say anything any more. */
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

  /** Something could not be stored, for as long as that was put up with. */
  def notStored(why: StorageFailure): Cause =
    internal(s"${missing(why)}; run the flare again once ${why.problem.remedy}")

  private def missing(why: StorageFailure): String =
    val what = why.workers.toVector.sorted match
      case Vector() => "the flare could not be stored"
      case Vector(one) => s"the output of worker $one could not be kept"
      case many => s"the outputs of ${listed(many)} could not be kept"
    s"$what, as ${why.problem.reason}"

  /** An invoker came to another scheduler without a pack that it had been asked for; where it is `unbroken`
    * it has never heard of it.
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

  /** Why a flare was being ended when another scheduler had it. */
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

  /** The flare's time is up. Whose doing that is shows when its packs have said what their workers were at
    * ([[keptBy]]); those of a pack that is not ready are at nothing yet.
    */
  def timedOut(progress: AttemptProgress, timeout: FiniteDuration): Cause =
    val late =
      Failure(FailureKind.Timeout, s"the flare did not end within its time-out of ${timeout.toCoarsest}")
    progress.firstUnready.fold(Cause(FlareState.TimedOut, late, provisional = true)): slow =>
      val unready =
        s"${progress.stages.length - progress.ready} of ${progress.stages.length} packs were not ready"
      val failure = late.copy(message = s"${late.message}: $unready", operation = Some(Operation.Start))
      Cause(FlareState.TimedOut, failure.at(slow.invoker, slow.pack))

  /** Names who kept a flare from ending in time: of the workers that had not ended those that ran, for the
    * others waited for them. Where none is known to have run it was the platform, if there are outputs that
    * it could not keep (`storageFailure`), and else nobody. Nothing where all workers have ended well, whose
    * word came late.
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
