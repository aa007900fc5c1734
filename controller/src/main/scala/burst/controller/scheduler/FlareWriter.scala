package burst.controller.scheduler

import burst.controller.blob.BlobName
import burst.controller.flare.{Flare, FlareState, LogText, OutputPiece, PhaseMark, WorkerResult}
import burst.controller.store.FlareStore
import burst.protocol.{FlareId, LogStream}
import scala.concurrent.{ExecutionContext, Future}

/** What of a flare waits to be stored. It is stored all at once, so that a record that says "ended" is never
  * seen without its results. `confirms` are those who wait for the record to be durable, `waiting` the packs
  * that send no more outputs before these are stored, `told` how many reports of which attempt's packs this
  * is.
  */
final case class WriteBatch(
    clear: Boolean = false,
    record: Option[Flare] = None,
    confirms: Vector[(Int, FlareState)] = Vector.empty,
    outputs: Vector[OutputPiece] = Vector.empty,
    results: Vector[WorkerResult] = Vector.empty,
    logs: Vector[LogText] = Vector.empty,
    phases: Vector[PhaseMark] = Vector.empty,
    waiting: Set[Int] = Set.empty,
    told: Map[(Int, Int), Long] = Map.empty
):
  def isEmpty: Boolean =
    !clear && record.isEmpty && results.isEmpty && logs.isEmpty && phases.isEmpty && confirms.isEmpty &&
      outputs.isEmpty && waiting.isEmpty

/** What became of a batch; on failure nothing of it is in the database, but for what it cleared, and `batch`
  * is what is still to be done: outputs that have reached the spool are whole only together with what came
  * before them, and are not written to it again. `logFull`: no more of the flare's log is kept.
  */
enum Written:
  case Done(
      confirms: Vector[(Int, FlareState)],
      waiting: Set[Int],
      told: Map[(Int, Int), Long],
      logFull: Boolean
  )
  case Failed(operation: String, cause: Throwable, batch: WriteBatch)

/** Writes one flare to the store: in order, one batch at a time, off the actor's thread.
  *
  * While a batch is being written the next one gathers: of several records only the last is written (each
  * replaces the one before), so a flare that is placed at once is inserted as `starting` in a single write,
  * and a short flare makes two: that one, and its results with the final record.
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
    tell: Written => Unit
):
  private val storing = BatchStoring(store, spool, id, blocking, transfers)
  private var pending = WriteBatch()
  private var busy = false

  // a flush was asked for while the last one was under way
  private var wanted = false
  private var inserted = alreadyStored
  private var abandoned = false

  // what the logs cost that are not stored yet, and of them those that are being written
  private var logCost = 0L
  private var logCostWriting = 0L

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
    logCost = logCostWriting

  def save(flare: Flare): Unit = pending = pending.copy(record = Some(flare))

  def confirm(flare: Flare): Unit =
    save(flare)
    pending = pending.copy(confirms = pending.confirms :+ (flare.attempt, flare.state))

  def outputs(more: Vector[OutputPiece]): Unit = pending = pending.copy(outputs = pending.outputs ++ more)

  /** A pack waits until what it has put out so far is stored. */
  def awaited(pack: Int): Unit = pending = pending.copy(waiting = pending.waiting + pack)

  /** All that a pack has told in so many reports is here, or stored. */
  def told(attempt: Int, pack: Int, reports: Long): Unit =
    pending = pending.copy(told = pending.told.updated((attempt, pack), reports))

  /** The packs that still wait though nothing is written any more. */
  def dropAwaited(): Set[Int] =
    val packs = pending.waiting
    pending = pending.copy(waiting = Set.empty)
    packs

  def results(more: Vector[WorkerResult]): Unit = pending = pending.copy(results = pending.results ++ more)

  /** Lines beyond the buffer, or what the namespace may write, are dropped and counted: a function that
    * writes faster than the disk must neither fill the controller's memory nor keep others from the disk.
    */
  def logs(more: Vector[LogText]): Unit = if !logFull then
    val (kept, beyond) = more.span: text =>
      val fits = logCost + text.cost <= settings.logBuffer && mayLog(text.cost)
      if fits then logCost += text.cost
      fits
    dropped += beyond.iterator.map(_.count.toLong).sum
    lastDropped = beyond.lastOption.orElse(lastDropped)
    pending = pending.copy(logs = pending.logs ++ kept)

  def phases(more: Vector[PhaseMark]): Unit =
    val room = (settings.phaseBuffer - pending.phases.length).max(0)
    pending = pending.copy(phases = pending.phases ++ more.take(room))

  /** The store is given up on: nothing is written any more. Not while something is being written. */
  def giveUp(): Unit =
    abandoned = true
    pausing = false
    pending = WriteBatch(waiting = pending.waiting)
    // Should it not succeed, the next start does it.
    val _ = Future(spool.discard(id))(using transfers)

  def isGivenUp: Boolean = abandoned

  /** Starts writing what is pending, once nothing is being written. */
  def flush(): Unit =
    if busy then wanted = true
    else if !pending.isEmpty || dropped > 0 then
      wanted = false
      pausing = false
      val batch = noteDropped(pending)
      pending = WriteBatch()
      logCostWriting = logCost
      busy = true
      if abandoned then tell(Written.Failed("storing the flare", FlareWriter.GivenUp, batch))
      else
        val number = logBatches
        storing(batch, create = !inserted, begun, BlobName.log(logWriter, number, _))
          .foreach(tell)(using ExecutionContext.parasitic)

  /** Starts writing if somebody waits for it; what nobody waits for gathers until then. */
  def flushIfAwaited(): Unit =
    if !busy && !pausing && (wanted || pending.confirms.nonEmpty || pending.waiting.nonEmpty) then flush()

  /** Nothing is written until the next [[flush]]: the store has failed and is left alone for a while. */
  private var pausing = false

  /** To be called with what was told, before anything else is done with it. */
  def finished(written: Written): Unit =
    busy = false
    written match
      case Written.Done(_, _, _, full) =>
        inserted = true
        logCost -= logCostWriting
        logBatches += 1
        logFull = full && !pending.clear
      case Written.Failed(_, _, batch) =>
        pausing = true
        if pending.clear then logCost -= logCostWriting
        restore(batch)
    logCostWriting = 0

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
          left.outputs ++ since.outputs,
          left.results ++ since.results,
          left.logs ++ since.logs,
          (left.phases ++ since.phases).take(settings.phaseBuffer),
          left.waiting ++ since.waiting,
          left.told ++ since.told
        )

  private def noteDropped(batch: WriteBatch): WriteBatch =
    lastDropped.fold(batch): last =>
      val note = s"[burst] $dropped lines were left out: they came faster than logs may be stored"
      forgetDropped()
      batch.copy(logs = batch.logs :+ LogText(None, last.pack, LogStream.Stderr, last.at, note))

  private def forgetDropped(): Unit =
    dropped = 0
    lastDropped = None

object FlareWriter:
  private val Random = java.security.SecureRandom()

  private object GivenUp extends RuntimeException("the store was given up on", null, false, false)
