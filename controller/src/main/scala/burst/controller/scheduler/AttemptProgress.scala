package burst.controller.scheduler

import burst.controller.flare.{
  Flare,
  FlareState,
  LogText,
  Output,
  OutputPiece,
  PackRecord,
  PhaseMark,
  WorkerRecord,
  WorkerResult,
  WorkerState
}
import burst.controller.placement.{PackPlacement, Plan}
import burst.protocol.JsonText
import org.apache.pekko.util.ByteString
import burst.protocol.{Failure, FailureKind, InvokerId, Operation, PackEvent, PackId, PackReport, Timestamp}

/** The stage of a pack, according to its reports. */
enum PackStage:
  case Preparing, Ready, Ended

/** The effects of a report, or of the loss of an invoker. `failures` are in the order they happened; `shrunk`
  * is how many slots the packs that are still open need.
  */
final case class Absorbed(
    progress: AttemptProgress,
    results: Vector[WorkerResult] = Vector.empty,
    pieces: Vector[OutputPiece] = Vector.empty,
    logs: Vector[LogText] = Vector.empty,
    phases: Vector[PhaseMark] = Vector.empty,
    failures: Vector[Failure] = Vector.empty,
    ended: Vector[PackId] = Vector.empty,
    shrunk: Vector[(PackId, Int)] = Vector.empty
)

/** One attempt of a flare according to its packs' reports: pure bookkeeping; [[FlareLifecycle]] makes the
  * decisions. Reports of packs that have ended, second reports of the same thing and reports about workers a
  * pack does not have change nothing.
  *
  * `received` is how many bytes of out-of-line outputs have arrived, by worker, and `stored` how many of all
  * outputs; `marks` counts workers' phases; `errors` are what packs ended with of their own accord, and hold
  * for those of their workers that never reported; `ready` counts the packs that were ever ready, `open`
  * those that have not ended. `begins` is true once a program was about to begin, until it is known that it
  * did not.
  */
final case class AttemptProgress(
    plan: Plan,
    stages: Vector[PackStage],
    packs: Vector[PackRecord],
    endpoints: Vector[Option[String]],
    workers: Vector[WorkerRecord],
    errors: Map[PackId, Failure],
    ready: Int,
    open: Int,
    outputLimit: Long,
    received: Map[Int, Long] = Map.empty,
    stored: Long = 0,
    marks: Map[Int, Int] = Map.empty,
    begins: Boolean = false
):
  def allReady: Boolean = ready == stages.length
  def openPacks: Vector[PackId] = plan.packs.map(_.pack).filter(stages(_) != PackStage.Ended)
  def unresolved: Iterator[WorkerRecord] = workers.iterator.filterNot(_.state.isFinal)
  def invokerOf(worker: WorkerRecord): Option[InvokerId] = worker.pack.map(plan.packs(_).invoker)

  /** The first pack whose start the others are waiting for. */
  def firstUnready: Option[PackPlacement] =
    plan.packs.find(p => stages(p.pack) == PackStage.Preparing)

  /** Processes a report. If there is a `cause`, the packs were told to end: an error that a pack then ends
    * with is a consequence and not a cause of its own.
    */
  def absorb(report: PackReport, cause: Option[Cause]): Absorbed =
    if !plan.packs.lift(report.pack).exists(_.invoker == report.invoker) then Absorbed(this)
    else
      val all = report.events.foldLeft(Absorbed(noted(report))) { (so, event) =>
        if so.progress.stages(report.pack) == PackStage.Ended then so
        else so.progress.absorbEvent(so, report.pack, event, cause)
      }
      val goesOn = all.progress.stages(report.pack) != PackStage.Ended
      all.copy(shrunk = report.slots.filter(_ => goesOn).map(report.pack -> _).toVector)

  /** Records that every pack on that machine has ended, whatever its stage. */
  def invokerLost(invoker: InvokerId, loss: InvokerLoss): Absorbed =
    plan.packs.filter(p => p.invoker == invoker && stages(p.pack) != PackStage.Ended).foldLeft(Absorbed(
      this
    )) {
      (so, placement) =>
        val failure = Failure(
          FailureKind.InvokerLost,
          s"invoker ${invoker.value} was lost: ${loss.reason}",
          pack = Some(placement.pack),
          invoker = Some(invoker),
          operation = Some(so.progress.operationOf(placement.pack))
        )
        so.progress.packEnded(so, placement.pack, Some(failure))
    }

  /** An invoker does not have these packs, which another scheduler requested from it. A pack whose workers
    * have all reported has ended; for the others `why` is their end.
    */
  def missing(packs: Vector[PackPlacement], why: Failure): Absorbed =
    packs.foldLeft(Absorbed(this)): (so, pack) =>
      val finished = pack.workers.forall(so.progress.workers(_).state.isFinal)
      so.progress.packEnded(so, pack.pack, Option.unless(finished)(why.at(pack.invoker, pack.pack)))

  /** The progress with all packs ended, as none was requested. */
  def neverAsked: AttemptProgress = copy(stages = stages.map(_ => PackStage.Ended), open = 0)

  /** Records, for packs that did not end when told to, why their workers have no result. */
  def givenUp(limit: String): AttemptProgress =
    val silent = openPacks.map { pack =>
      pack -> Failure(
        FailureKind.PackLost,
        s"the pack did not report its end within $limit of being told to stop",
        operation = Some(Operation.Abort)
      ).at(plan.packs(pack).invoker, pack)
    }
    copy(errors = silent.toMap ++ errors)

  /** Gives every worker that never reported its end the failure `why` finds for it. */
  def resolve(
      at: Timestamp,
      state: WorkerState,
      why: WorkerRecord => Failure
  ): (AttemptProgress, Vector[WorkerResult]) =
    val results = Vector.newBuilder[WorkerResult]
    val resolved = workers.map { worker =>
      if worker.state.isFinal then worker
      else
        val failure = worker.pack
          .flatMap(errors.get)
          .map(_.copy(worker = Some(worker.worker)))
          .getOrElse(why(worker))
        results += WorkerResult(worker.worker, None, Some(failure))
        worker.copy(state = state, ended = Some(at), error = Some(failure))
    }
    (copy(workers = resolved), results.result())

  /** The outputs of these workers could not be kept: they have none, even if the workers succeeded. */
  def losing(why: StorageFailure, at: Timestamp): (AttemptProgress, Vector[WorkerResult]) =
    val lost = workers.filter: worker =>
      why.workers(worker.worker) && (!worker.state.isFinal || worker.state == WorkerState.Succeeded)
    val failed = lost.map: worker =>
      val failure = FlareEnding.notStored(StorageFailure(why.problem, Set(worker.worker))).failure
      val own =
        Some(failure.copy(worker = Some(worker.worker), pack = worker.pack, invoker = invokerOf(worker)))
      worker.copy(state = WorkerState.Failed, ended = worker.ended.orElse(Some(at)), error = own)
    (failed.foldLeft(this)(_.put(_)), failed.map(worker => WorkerResult(worker.worker, None, worker.error)))

  private def noted(report: PackReport): AttemptProgress =
    val known =
      if report.start.isEmpty then packs
      else packs.updated(report.pack, packs(report.pack).copy(start = report.start))
    copy(packs = known, begins = report.begins.getOrElse(begins))

  private def absorbEvent(so: Absorbed, pack: PackId, event: PackEvent, cause: Option[Cause]): Absorbed =
    event match
      case PackEvent.Ready(endpoint, _) => so.copy(progress = markReady(pack, endpoint))
      case PackEvent.WorkerStarted(id, at) =>
        val begun = if stages.length == 1 then markReady(pack, None) else this
        own(pack, id).filter(_.state == WorkerState.Pending).fold(so) { worker =>
          so.copy(progress = begun.put(worker.copy(state = WorkerState.Running, started = Some(at))))
        }
      case PackEvent.Phase(id, name, at) =>
        val before = marks.getOrElse(id, 0)
        own(pack, id).filter(_ => before < AttemptProgress.Marks).fold(so) { _ =>
          so.copy(
            progress = copy(marks = marks.updated(id, before + 1)),
            phases = so.phases :+ PhaseMark(id, name, at)
          )
        }
      case PackEvent.Log(id, stream, text, at) =>
        if id.forall(own(pack, _).isDefined) then
          so.copy(logs = so.logs :+ LogText(id, pack, stream, at, text))
        else so
      case PackEvent.Output(id, text) =>
        own(pack, id).filterNot(_.state.isFinal).fold(so)(_ => received(so, pack, id, ByteString(text)))
      case PackEvent.WorkerSucceeded(id, output, at) =>
        own(pack, id).filterNot(_.state.isFinal).fold(so) { worker =>
          val text = ByteString(output)
          val inline = !received.contains(id) && text.length <= Output.MostInline
          val taken =
            if inline then so.copy(progress = copy(stored = stored + text.length))
            else received(so, pack, id, text)
          val result =
            if inline then Output.Inline(JsonText(text))
            else Output.OutOfLine(taken.progress.received.getOrElse(id, 0))
          if taken.failures.length > so.failures.length then taken
          else
            taken.copy(
              progress = taken.progress.put(worker.copy(state = WorkerState.Succeeded, ended = Some(at))),
              results = so.results :+ WorkerResult(id, Some(result), None)
            )
        }
      case PackEvent.WorkerFailed(id, error, at) =>
        own(pack, id).filterNot(_.state.isFinal).fold(so) { worker =>
          val where = located(credible(error, cause), pack)
          val failure = where.copy(worker = error.worker.orElse(Some(id)))
          // for a process that has exited, which worker was at fault does not matter
          val blamed = if AttemptProgress.OfProcess(error.kind) then where else failure
          val state =
            if where.kind == FailureKind.Cancelled then WorkerState.Cancelled else WorkerState.Failed
          so.copy(
            progress = put(worker.copy(state = state, ended = Some(at), error = Some(failure))),
            results = so.results :+ WorkerResult(id, None, Some(failure)),
            failures = so.failures :+ blamed
          )
        }
      case PackEvent.PackEnded(_, error, _, _) =>
        val finished = plan.packs(pack).workers.forall(workers(_).state.isFinal)
        val failure =
          if finished then None
          // The failure that ends the flare may precede it in the same report.
          else if cause.isDefined || so.failures.nonEmpty then
            error.filterNot(e => AttemptProgress.Consequences(e.kind)).map(located(_, pack))
          else Some(error.map(located(_, pack)).getOrElse(silentEnd(pack)))
        packEnded(so, pack, failure)

  /** A worker may be told of a cancellation by another pack before its own runtime is. Only the controller
    * knows whether the flare was cancelled.
    */
  private def credible(error: Failure, cause: Option[Cause]): Failure =
    val cancelled = cause.exists(_.state == FlareState.Cancelled)
    if error.kind == FailureKind.Cancelled && !cancelled then error.copy(kind = FailureKind.Error) else error

  /** Adds a part of an out-of-line output, unless the flare's outputs exceed their limit together. */
  private def received(so: Absorbed, pack: PackId, worker: Int, bytes: ByteString): Absorbed =
    val before = received.getOrElse(worker, 0L)
    if stored + bytes.length > outputLimit then
      val message =
        s"the outputs of the flare's workers have more than $outputLimit bytes together; put large " +
          "results into files or a bucket"
      so.copy(failures = so.failures :+ located(Failure(FailureKind.Error, message, Some(worker)), pack))
    else
      so.copy(
        progress = copy(
          received = received.updated(worker, before + bytes.length),
          stored = stored + bytes.length
        ),
        pieces = so.pieces :+ OutputPiece(worker, before, bytes)
      )

  private def packEnded(so: Absorbed, pack: PackId, failure: Option[Failure]): Absorbed =
    so.copy(
      progress = so.progress.copy(
        stages = so.progress.stages.updated(pack, PackStage.Ended),
        open = so.progress.open - 1,
        errors = so.progress.errors ++ failure.map(pack -> _)
      ),
      failures = so.failures ++ failure,
      ended = so.ended :+ pack
    )

  private def markReady(pack: PackId, endpoint: Option[String]): AttemptProgress =
    if stages(pack) != PackStage.Preparing then this
    else
      copy(
        stages = stages.updated(pack, PackStage.Ready),
        endpoints = endpoints.updated(pack, endpoint),
        ready = ready + 1
      )

  private def own(pack: PackId, worker: Int): Option[WorkerRecord] =
    workers.lift(worker).filter(_.pack.contains(pack))

  private def put(worker: WorkerRecord): AttemptProgress =
    copy(workers = workers.updated(worker.worker, worker))

  private def operationOf(pack: PackId) =
    if stages(pack) == PackStage.Preparing then Operation.Start else Operation.Work

  private def located(failure: Failure, pack: PackId): Failure =
    val at = failure.short.at(plan.packs(pack).invoker, pack)
    at.copy(operation = at.operation.orElse(Some(operationOf(pack))))

  private def silentEnd(pack: PackId): Failure =
    val silent = plan.packs(pack).workers.filterNot(workers(_).state.isFinal)
    val kind =
      if stages(pack) == PackStage.Preparing then FailureKind.StartFailed else FailureKind.PackLost
    val whose = if silent.length == 1 then s"worker ${silent.head}" else s"${silent.length} of its workers"
    val only = silent.headOption.filter(_ => silent.length == 1)
    located(Failure(kind, s"the pack ended before $whose reported a result", worker = only), pack)

object AttemptProgress:
  /** The number of phases kept per worker; the runtime has the same limit and passes on no more. */
  val Marks = 1000

  /** Failures that merely follow from being told to end. */
  val Consequences: Set[FailureKind] = Set(
    FailureKind.PeerFailed,
    FailureKind.Cancelled,
    FailureKind.Timeout,
    FailureKind.PackLost,
    FailureKind.Signal,
    FailureKind.StartFailed
  )

  /** The failures that end all workers of a pack at once: one worker is to blame only if the failure names
    * it.
    */
  val OfProcess: Set[FailureKind] = Set(
    FailureKind.Abort,
    FailureKind.Exit,
    FailureKind.Signal,
    FailureKind.OutOfMemory,
    FailureKind.PackLost,
    FailureKind.StartFailed,
    FailureKind.Internal
  )

  /** The bookkeeping of an attempt that another scheduler had, as far as it is stored: its packs report the
    * rest.
    */
  def resume(flare: Flare, outputLimit: Long): AttemptProgress =
    // Whether a program was about to begin is not stored.
    begin(flare.plan, outputLimit).copy(packs = flare.packs, workers = flare.workers, begins = true)

  /** The bookkeeping of an attempt whose packs have not been requested yet. */
  def begin(plan: Plan, outputLimit: Long): AttemptProgress =
    val workers = plan.packs.flatMap(pack =>
      pack.workers.map(worker =>
        WorkerRecord(worker, Some(pack.pack), WorkerState.Pending, None, None, None)
      )
    )
    AttemptProgress(
      plan,
      plan.packs.map(_ => PackStage.Preparing),
      plan.packs.map(pack =>
        PackRecord(pack.pack, pack.invoker, pack.workers.toVector, None, pack.node, pack.shared)
      ),
      plan.packs.map(_ => None),
      workers,
      Map.empty,
      ready = 0,
      open = plan.packs.length,
      outputLimit
    )
