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
import burst.protocol.{FlareId, LogStream}
import scala.concurrent.ExecutionContext
import scala.util.Try

/** What of a flare waits to be stored, but for its outputs in pieces, which gather in the spool. It is stored
  * all at once, so that a record that says "ended" is never seen without its results. `confirms` are those
  * who wait for the record to be durable, `waiting` the packs that send no more outputs before these are
  * stored, `told` how many reports of which attempt's packs this is.
  */
final case class WriteBatch(
    clear: Boolean = false,
    record: Option[Flare] = None,
    confirms: Vector[(Int, FlareState)] = Vector.empty,
    results: Vector[WorkerResult] = Vector.empty,
    logs: Vector[LogText] = Vector.empty,
    phases: Vector[PhaseMark] = Vector.empty,
    waiting: Set[Int] = Set.empty,
    told: Map[(Int, Int), Long] = Map.empty
):
  def isEmpty: Boolean =
    !clear && record.isEmpty && results.isEmpty && logs.isEmpty && phases.isEmpty && confirms.isEmpty &&
      waiting.isEmpty

/** What became of a batch; on failure nothing of it is in the database, but for what it cleared, and `batch`
  * is what is still to be done. `logFull`: no more of the flare's log is kept. Or what became of outputs on
  * their way to the spool.
  */
enum Written:
  case Done(
      confirms: Vector[(Int, FlareState)],
      waiting: Set[Int],
      told: Map[(Int, Int), Long],
      logFull: Boolean
  )
  case Failed(operation: String, cause: Throwable, batch: WriteBatch)
  case Gathered(outcome: Try[Unit])

/** Writes one flare to the store: in order, one batch at a time, off the actor's thread.
  *
  * While a batch is being written the next one gathers: of several records only the last is written (each
  * replaces the one before), so a flare that is placed at once is inserted as `starting` in a single write,
  * and a short flare makes two: that one, and its results with the final record.
  *
  * Outputs go to the spool meanwhile, and packs may put out more once they are there: so much of them that
  * the database does not know of, and beyond that once it does.
  *
  * Not thread-safe: belongs to the flare's actor. `tell` is called on another thread and must only send.
  * `mayLog` says whether the flare's namespace may write so many bytes of log now.
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

  // a flush was asked for while the last one was under way
  private var wanted = false
  private var inserted = alreadyStored
  private var abandoned = false

  import FlareWriter.Unstored

  private val logCost = Unstored()
  private val outputBytes = Unstored()
  private val unstored = Vector(logCost, outputBytes)

  // how many lines were dropped since that was said last, and the last of them
  private var dropped = 0L
  private var lastDropped = Option.empty[LogText]

  // Names of this writer's parts of the log: one that failed is written again under the name it had.
  private lazy val logWriter = java.lang.Long.toHexString(FlareWriter.Random.nextLong())
  private var logBatches = 0L
  private var logFull = false

  /** The flare is in the store. */
  def isInserted: Boolean = inserted

  /** It is not, nor on its way there. */
  def isUntouched: Boolean = !inserted && !busy

  /** It runs before it is stored: the package that its pack has is not asked for. */
  def begins(): Unit = begun = true
  private var begun = false

  /** The attempt that was is forgotten, with what of it is not stored yet. */
  def clear(): Unit =
    pending = WriteBatch(clear = true, pending.record, pending.confirms)
    forgetDropped()
    logFull = false
    gathering.clear()
    unstored.foreach(_.clear())

  def save(flare: Flare): Unit =
    // What is not whole at its end never will be, and is not to keep that from being stored.
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

  /** A pack waits until what it has put out so far is gathered, or stored: until then others may have to be
    * told of it, should the flare come to another scheduler.
    */
  def awaited(pack: Int): Unit =
    if outputBytes.now <= FlareWriter.MostAhead then gathering.await(pack)
    else pending = pending.copy(waiting = pending.waiting + pack)

  /** All that a pack has told in so many reports is here, or stored. */
  def told(attempt: Int, pack: Int, reports: Long): Unit =
    pending = pending.copy(told = pending.told.updated((attempt, pack), reports))

  /** The packs that still wait though nothing is written any more. */
  def dropAwaited(): Set[Int] =
    val packs = pending.waiting ++ gathering.dropAwaited()
    pending = pending.copy(waiting = Set.empty)
    packs

  def results(more: Vector[WorkerResult]): Unit =
    pending = pending.copy(results = pending.results ++ more)
    more.foreach:
      case WorkerResult(_, Some(Output.Inline(text)), _) => outputBytes.add(text.length)
      case _ => ()

  /** Lines beyond the buffer, or what the namespace may write, are dropped and counted: a function that
    * writes faster than the disk must neither fill the controller's memory nor keep others from the disk.
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

  /** What was to stand beside the database is given up, so that the rest can be stored: what cannot be
    * gathered, if that is what fails, or else what is whole and goes no further. Not while something is being
    * written.
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

  /** The store is given up on: nothing is written any more. Not while something is being written. */
  def giveUp(): Unit =
    abandoned = true
    pausing = false
    pending = WriteBatch(waiting = dropAwaited())
    gathering.clear()
    // Should it not succeed, the next start does it.
    gathering.end.onComplete(_ => spool.discard(id))(using transfers)

  def isGivenUp: Boolean = abandoned

  /** Starts writing what is pending, once nothing is being written, and all outputs are on their way. */
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

  /** Starts writing if somebody waits for it; what nobody waits for gathers until then. */
  def flushIfAwaited(): Unit =
    if !gathering.hasFailed then gathering.begin()
    if !busy && !pausing && (wanted || pending.confirms.nonEmpty || pending.waiting.nonEmpty) then flush()

  /** Nothing is written until the next [[flush]]: the store has failed and is left alone for a while. */
  private var pausing = false

  /** To be called with what was told, before anything else is done with it: the packs that may put out more.
    */
  def finished(written: Written): Set[Int] = written match
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
    // A batch may be on its way meanwhile.
    case Written.Gathered(outcome) =>
      val packs = gathering.finished(outcome)
      // It is tried again with what is written, which fails while that does.
      if gathering.hasFailed then wanted = true
      packs

  /** Those who waited for a record to be durable are told that it is not; they are not kept waiting. */
  def dropConfirms(): Vector[(Int, FlareState)] =
    val waiting = pending.confirms
    pending = pending.copy(confirms = Vector.empty)
    waiting

  /** What was not stored stands before what came since, unless the attempt was cleared meanwhile. */
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
  /** Bytes of a flare's outputs that the database does not know of while packs put out more. Invokers keep
    * what packs have told until then, for the next scheduler, and have 64 MiB for all flares.
    */
  val MostAhead: Long = 4 << 20

  /** What is given up: outputs of these workers, and these lines of the log. */
  final case class Lost(workers: Set[Int], lines: Vector[LogText]):
    def isEmpty: Boolean = workers.isEmpty && lines.isEmpty

  object Lost:
    val Nothing: Lost = Lost(Set.empty, Vector.empty)

  private val Random = java.security.SecureRandom()

  private object GivenUp extends RuntimeException("the store was given up on", null, false, false)

  /** What waits to be stored, in bytes, and of it what is being written. */
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

    /** All but what is being written is forgotten. */
    def clear(): Unit = bytes = writing
