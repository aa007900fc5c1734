package burst.controller.scheduler

import burst.controller.blob.BlobName
import burst.controller.flare.{
  Flare,
  FlareState,
  LogText,
  Output,
  OutputPiece,
  PhaseMark,
  WorkerResult,
  WorkerState
}
import burst.controller.store.FlareStore
import burst.protocol.{FlareId, LogStream, PackId}
import scala.concurrent.ExecutionContext
import scala.util.Try

/** The data of a flare that waits to be stored, except its outputs in pieces, which are gathered in the
  * spool. It is stored as a whole, so that a record with a final state is never seen without its results.
  * `confirms` are the records that must be confirmed as durable, `waiting` the packs that send no more
  * outputs before these are stored, `told` how many reports of which attempt's packs it includes.
  */
final case class WriteBatch(
    clear: Boolean = false,
    record: Option[Flare] = None,
    confirms: Vector[(Int, FlareState)] = Vector.empty,
    results: Vector[WorkerResult] = Vector.empty,
    logs: Vector[LogText] = Vector.empty,
    phases: Vector[PhaseMark] = Vector.empty,
    waiting: Set[PackId] = Set.empty,
    told: Map[(Int, PackId), Long] = Map.empty
):
  def isEmpty: Boolean =
    !clear && record.isEmpty && results.isEmpty && logs.isEmpty && phases.isEmpty && confirms.isEmpty &&
      waiting.isEmpty

/** The outcome of a batch; on failure nothing of it is in the database, except what it cleared, and `batch`
  * is what is still to be stored. `logFull`: no more of the flare's log is kept. Or the outcome of outputs on
  * their way to the spool.
  */
enum Written:
  case Done(
      confirms: Vector[(Int, FlareState)],
      waiting: Set[PackId],
      told: Map[(Int, PackId), Long],
      logFull: Boolean
  )
  case Failed(operation: String, cause: Throwable, batch: WriteBatch)
  case Gathered(outcome: Try[Unit])

/** Writes one flare to the store: in order, one batch at a time, off the actor's thread.
  *
  * While a batch is being written the next one accumulates: of several records only the last is written (each
  * replaces the one before), so a flare that is placed at once is inserted as `starting` in a single write,
  * and a short flare makes two: that one, and its results with the final record.
  *
  * Outputs go to the spool in the meantime, and packs may send more once they are there: up to a limit
  * without the database knowing of them, and beyond that once it does.
  *
  * Not thread-safe: belongs to the flare's actor. `tell` is called on another thread and must only send.
  * `mayLog` returns whether the flare's namespace may write this many bytes of log now.
  */
final class FlareWriter(
    store: FlareStore,
    spool: Spool,
    id: FlareId,
    alreadyStored: Boolean,
    settings: SchedulerSettings,
    mayLog: Long => Boolean,
    blocking: ExecutionContext,
    transfers: ExecutionContext,
    gatherers: ExecutionContext,
    tell: Written => Unit
):
  private val storing = BatchStoring(store, spool, id, blocking, transfers, gatherers)
  private val gathering = OutputGathering(spool, id, gatherers, outcome => tell(Written.Gathered(outcome)))
  private var pending = WriteBatch()
  private var busy = false

  // a flush was requested while the last one was in progress
  private var wanted = false
  private var inserted = alreadyStored
  private var abandoned = false

  import FlareWriter.Unstored

  private val logCost = Unstored()
  private val outputBytes = Unstored()
  private val unstored = Vector(logCost, outputBytes)

  // the number of lines dropped since the last note about them, and the last of those lines
  private var dropped = 0L
  private var lastDropped = Option.empty[LogText]

  // Names of this writer's parts of the log: a part that failed is written again under the same name.
  private lazy val logWriter = java.lang.Long.toHexString(FlareWriter.Random.nextLong())
  private var logBatches = 0L
  private var logFull = false

  /** Whether the flare is in the store. */
  def isInserted: Boolean = inserted

  /** Whether it is neither in the store nor on its way there. */
  def isUntouched: Boolean = !inserted && !busy

  /** The flare runs before it is stored: its pack has the package, so the store does not check for that. */
  def begins(): Unit = begun = true
  private var begun = false

  /** Forgets the last attempt, including its data that is not stored yet. */
  def clear(): Unit =
    pending = WriteBatch(clear = true, pending.record, pending.confirms)
    forgetDropped()
    logFull = false
    gathering.clear()
    unstored.foreach(_.clear())

  def save(flare: Flare): Unit =
    // Outputs that are incomplete at the end stay so, and must not keep the end from being stored.
    if flare.state.isFinal then
      val whole = flare.workers.iterator.filter(_.state == WorkerState.Succeeded).map(_.worker).toSet
      gathering.keepOnly(whole)
    pending = pending.copy(record = Some(flare))

  def confirm(flare: Flare): Unit =
    save(flare)
    pending = pending.copy(confirms = pending.confirms :+ (flare.attempt, flare.state))

  def outputs(more: Vector[OutputPiece]): Unit = if !abandoned then
    gathering.add(more)
    more.foreach(piece => outputBytes.add(piece.bytes.length))

  /** Makes a pack wait until its outputs so far are gathered, or stored: before that they may have to be sent
    * again, if another scheduler takes over.
    */
  def awaited(pack: PackId): Unit =
    if outputBytes.now <= FlareWriter.MostAhead then gathering.await(pack)
    else pending = pending.copy(waiting = pending.waiting + pack)

  /** All that a pack has sent in this many reports is here, or stored. */
  def told(attempt: Int, pack: PackId, reports: Long): Unit =
    pending = pending.copy(told = pending.told.updated((attempt, pack), reports))

  /** Returns the packs that still wait although nothing is written any more. */
  def dropAwaited(): Set[PackId] =
    val packs = pending.waiting ++ gathering.dropAwaited()
    pending = pending.copy(waiting = Set.empty)
    packs

  def results(more: Vector[WorkerResult]): Unit =
    pending = pending.copy(results = pending.results ++ more)
    more.foreach:
      case WorkerResult(_, Some(Output.Inline(text)), _) => outputBytes.add(text.length)
      case _ => ()

  /** Drops and counts lines that exceed the buffer, or what the namespace may write: a function that writes
    * faster than the disk must neither fill the controller's memory nor keep others from the disk.
    */
  def logs(more: Vector[LogText]): Unit = if !logFull then
    val (kept, beyond) = more.span: text =>
      val fits = logCost.now + text.cost <= settings.logBuffer && mayLog(text.cost)
      if fits then logCost.add(text.cost)
      fits
    drop(beyond)
    pending = pending.copy(logs = pending.logs ++ kept)

  private def drop(lines: Vector[LogText]): Unit =
    dropped += lines.iterator.map(_.count.toLong).sum
    lastDropped = lines.lastOption.orElse(lastDropped)

  def phases(more: Vector[PhaseMark]): Unit =
    val room = (settings.phaseBuffer - pending.phases.length).max(0)
    pending = pending.copy(phases = pending.phases ++ more.take(room))

  /** The outputs that cannot be gathered for now. */
  def storageFailure: Option[StorageFailure] = gathering.storageFailure

  /** Gives up data that was to be kept outside the database, so that the rest can be stored: outputs that
    * cannot be gathered, if that is what fails, or else complete data that cannot be moved on. Must not be
    * called while something is being written.
    */
  def giveUpBeside(): FlareWriter.Lost =
    val ungathered = storageFailure.fold(Set.empty[Int])(_ => gathering.workers)
    val isStuck = storageFailure.isDefined
    val (beside, kept) =
      pending.results.partition(result => result.isOutOfLine && (!isStuck || ungathered(result.worker)))
    val lost = FlareWriter.Lost(
      ungathered ++ beside.map(_.worker),
      if !isStuck && BatchStoring.isLarge(pending.logs) then pending.logs else Vector.empty
    )
    if isStuck then gathering.clear()
    drop(lost.lines)
    pending = pending.copy(results = kept, logs = if lost.lines.isEmpty then pending.logs else Vector.empty)
    unstored.foreach(_.clear())
    lost

  /** Gives up the store: nothing is written any more. Must not be called while something is being written. */
  def giveUp(): Unit =
    abandoned = true
    pausing = false
    pending = WriteBatch(waiting = dropAwaited())
    gathering.clear()
    // If this fails, the next start does it.
    gathering.end.onComplete(_ => spool.discard(id))(using transfers)

  def isGivenUp: Boolean = abandoned

  /** Writes pending data, unless something is being written, and once all outputs are on their way. */
  def flush(): Unit =
    pausing = false
    val isTriedAgain = gathering.hasFailed
    gathering.begin()
    if busy || gathering.isBehind then wanted = true
    else if !pending.isEmpty || dropped > 0 || isTriedAgain then
      wanted = false
      val batch = noteDropped(pending)
      pending = WriteBatch()
      unstored.foreach(_.begin())
      busy = true
      if abandoned then tell(Written.Failed("storing the flare", FlareWriter.GivenUp, batch))
      else
        val number = logBatches
        storing(batch, gathering.end, create = !inserted, begun, BlobName.log(logWriter, number, _))
          .foreach(tell)(using ExecutionContext.parasitic)

  /** Writes pending data if somebody waits for it; otherwise it accumulates. */
  def flushIfAwaited(): Unit =
    if !gathering.hasFailed then gathering.begin()
    if !busy && !pausing && (wanted || pending.confirms.nonEmpty || pending.waiting.nonEmpty) then flush()

  /** Whether nothing is written until the next [[flush]]: the store has failed and is left alone for a while.
    */
  private var pausing = false

  /** Must be called with each outcome that was sent, before anything else is done with it. Returns the packs
    * that may send more outputs.
    */
  def finished(written: Written): Set[PackId] = written match
    case Written.Done(_, waiting, _, full) =>
      busy = false
      inserted = true
      unstored.foreach(_.stored())
      logBatches += 1
      logFull = full && !pending.clear
      waiting
    case Written.Failed(_, _, batch) =>
      busy = false
      pausing = true
      unstored.foreach(_.failed(isCleared = pending.clear))
      restore(batch)
      Set.empty
    // A batch may be on its way at the same time.
    case Written.Gathered(outcome) =>
      val packs = gathering.finished(outcome)
      // It is retried with the next write, which fails as long as this does.
      if gathering.hasFailed then wanted = true
      packs

  /** Takes out the records that were to be confirmed as durable: their waiters are told that it failed, and
    * not kept waiting.
    */
  def dropConfirms(): Vector[(Int, FlareState)] =
    val waiting = pending.confirms
    pending = pending.copy(confirms = Vector.empty)
    waiting

  /** Puts data that was not stored before newer data, unless the attempt was cleared since then. */
  private def restore(left: WriteBatch): Unit =
    val since = pending
    val record = since.record.orElse(left.record)
    val confirms = left.confirms ++ since.confirms
    pending =
      if since.clear then since.copy(record = record, confirms = confirms)
      else
        WriteBatch(
          left.clear,
          record,
          confirms,
          left.results ++ since.results,
          left.logs ++ since.logs,
          (left.phases ++ since.phases).take(settings.phaseBuffer),
          left.waiting ++ since.waiting,
          left.told ++ since.told
        )

  private def noteDropped(batch: WriteBatch): WriteBatch =
    lastDropped.fold(batch): last =>
      val note = s"[burst] $dropped lines were left out: they came faster than they could be stored"
      forgetDropped()
      batch.copy(logs = batch.logs :+ LogText(None, last.pack, LogStream.Stderr, last.at, note))

  private def forgetDropped(): Unit =
    dropped = 0
    lastDropped = None

object FlareWriter:
  /** Bytes of a flare's outputs that packs may send ahead of the database. Until it has them, invokers keep
    * the packs' reports for the next scheduler, in 64 MiB for all flares.
    */
  val MostAhead: Long = 4 << 20

  /** Data that is given up: the outputs of these workers, and these lines of the log. */
  final case class Lost(workers: Set[Int], lines: Vector[LogText]):
    def isEmpty: Boolean = workers.isEmpty && lines.isEmpty

  object Lost:
    val Nothing: Lost = Lost(Set.empty, Vector.empty)

  private val Random = java.security.SecureRandom()

  private object GivenUp extends RuntimeException("the store was given up on", null, false, false)

  /** The number of bytes that wait to be stored, and how many of them are being written. */
  private final class Unstored:
    private var bytes = 0L
    private var writing = 0L
    def now: Long = bytes
    def add(more: Long): Unit = bytes += more
    def begin(): Unit = writing = bytes
    def stored(): Unit =
      bytes -= writing
      writing = 0
    def failed(isCleared: Boolean): Unit =
      if isCleared then bytes -= writing
      writing = 0

    /** Forgets all but the bytes that are being written. */
    def clear(): Unit = bytes = writing
