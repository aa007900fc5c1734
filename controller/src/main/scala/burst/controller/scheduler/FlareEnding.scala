package burst.controller.scheduler

import burst.controller.flare.{FlareState, WorkerRecord, WorkerState}
import burst.protocol.{Failure, FailureKind}

/** Why a flare ends otherwise than well. `provisional` while all that is known is that somebody failed
  * because of somebody else: the peer's own failure replaces it when it is heard of in time.
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
      Some(if worker.started.isDefined then "work" else "start")
    )

/** The rules of a flare's end that need no state: what is tried again, what outweighs what, and how causes
  * read.
  */
object FlareEnding:

  /** Failures that another attempt may well not meet. Who sets `retries` asks for the function's own errors
    * to be tried again too (a flaky service it calls, memory that was short). Never tried again: what would
    * be the same (an invalid input), what somebody wanted (cancellation), what took all the time there was
    * (the flare's time-out), and what the controller cannot vouch for (its own or the store's failure).
    */
  def retriable(cause: Cause): Boolean =
    cause.state == FlareState.Failed && !NotRetried(cause.failure.kind)

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

  /** A worker's or pack's failure as the flare's cause. A worker that met the flare's deadline by its own
    * clock has timed out with the flare.
    */
  def causeOf(failure: Failure, deadline: Option[Long], at: Long, provisional: Boolean = false): Cause =
    val state =
      if failure.kind == FailureKind.Timeout && deadline.exists(at >= _) then FlareState.TimedOut
      else FlareState.Failed
    Cause(state, failure, provisional)

  def cancelled(by: CancelledBy, isGroup: Boolean): Cause =
    val message = by match
      case CancelledBy.User if isGroup => "the group was closed"
      case CancelledBy.User => "the flare was cancelled"
      case CancelledBy.Administrator if isGroup => "the administrator closed the group"
      case CancelledBy.Administrator => "the administrator cancelled the flare"
      case CancelledBy.Revocation => "the namespace was revoked"
    Cause(FlareState.Cancelled, Failure(FailureKind.Cancelled, message))

  def idle(timeout: Long): Cause =
    Cause(FlareState.TimedOut, Failure(FailureKind.Timeout, s"no flare came to the group for $timeout ms"))

  val groupEnded: Cause = Cause(
    FlareState.Failed,
    Failure(FailureKind.PackLost, "the group ended before it was the flare's turn", operation = Some("queue"))
  )

  def internal(message: String): Cause =
    Cause(FlareState.Failed, Failure(FailureKind.Internal, message, operation = Some("store")))

  def waitedTooLong(size: Int, limit: String): Cause = Cause(
    FlareState.TimedOut,
    Failure(
      FailureKind.Timeout,
      s"the flare waited $limit for $size free slots at once and did not get them",
      operation = Some("queue")
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
        operation = Some("start")
      )
    )

  def timedOut(progress: AttemptProgress, timeout: Long): Cause =
    val slow = progress.unresolved.nextOption()
    Cause(
      FlareState.TimedOut,
      Failure(
        FailureKind.Timeout,
        s"the flare did not end within its time-out of $timeout ms; " +
          s"${progress.unresolved.length} of ${progress.workers.length} workers had not",
        slow.map(_.worker),
        slow.flatMap(_.pack),
        slow.flatMap(progress.invokerOf),
        Some("work")
      )
    )

  /** A failure in a sentence, for the errors of those that ended because of it. */
  def describe(failure: Failure): String =
    val who = Vector(
      failure.worker.map(worker => s"worker $worker"),
      failure.pack.map(pack => s"pack $pack"),
      failure.invoker.map(invoker => s"invoker ${invoker.value}")
    ).flatten.mkString(", ")
    val during = failure.operation.fold("")(operation => s" during $operation")
    if who.isEmpty then failure.message else s"$who failed$during: ${failure.message}"
