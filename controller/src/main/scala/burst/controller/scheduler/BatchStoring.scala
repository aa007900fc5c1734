package burst.controller.scheduler

import burst.controller.blob.BlobName
import burst.controller.flare.{Flare, LogText}
import burst.controller.store.FlareChange.{LogPiece, Record}
import burst.controller.store.{FlareChange, FlareStore, LogChunk, StoreException}
import burst.node.logs.LogIds.of
import burst.protocol.{FlareId, Inputs}
import org.slf4j.LoggerFactory
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** Stores batches of one flare, each step on the threads it is for: what stands beside the database moves on
  * those of `transfers`, and before the transaction, which keeps all other writers waiting.
  */
private[scheduler] final class BatchStoring(
    store: FlareStore,
    spool: Spool,
    id: FlareId,
    blocking: ExecutionContext,
    transfers: ExecutionContext,
    gatherers: ExecutionContext
):
  import BatchStoring.*

  /** Does not fail. Begins when the outputs that belong to it are gathered. One that is created has `begun`
    * where its pack has the package. `logName` names the parts of the log that do not stand in the database.
    */
  def apply(
      batch: WriteBatch,
      gathered: Future[Unit],
      create: Boolean,
      begun: Boolean,
      logName: Int => BlobName
  ): Future[Written] =
    given ExecutionContext = ExecutionContext.parasitic
    val parts = logParts(batch, logName)
    val stored =
      for
        _ <- unfinished(batch)(gathered)
        cleared <- step(batch, batch.clear && !create)(blocking)(clear)
        forgotten <- step(cleared, cleared.clear)(transfers)(forget)
        beside <- step(forgotten, hasBlobs(forgotten, create, parts))(transfers)(keep(_, create, parts))
        ended = beside.record.filter(_.state.isFinal)
        // On this machine alone: a bucket that hangs is not to be waited for.
        _ <- step(beside, ended.nonEmpty && spool.gathers(id))(gatherers)(discard)
        full <- commit(beside, create, begun, parts)
        _ <- ended.filter(Spool.hasLargeInputs).fold(Future.unit)(_ => Future(settle())(using transfers))
      yield Written.Done(batch.confirms, batch.waiting, batch.told, full)
    stored.recover { case Unfinished(left, cause) =>
      val operation = cause match
        case failure: StoreException => failure.operation
        case _ => "storing the flare"
      Written.Failed(operation, cause, left)
    }

  private def step(batch: WriteBatch, needed: Boolean)(threads: ExecutionContext)(
      work: WriteBatch => WriteBatch
  ): Future[WriteBatch] = if needed then attempt(batch)(threads)(work(batch)) else Future.successful(batch)

  private def attempt[A](left: WriteBatch)(threads: ExecutionContext)(work: => A): Future[A] =
    unfinished(left)(Future(work)(using threads))

  private def unfinished[A](left: WriteBatch)(work: Future[A]): Future[A] =
    work.recover { case NonFatal(cause) => throw Unfinished(left, cause) }(using ExecutionContext.parasitic)

  /** By itself and first, at each try: it shows whether the flare is still ours, and what stands beside the
    * database may go.
    */
  private def clear(batch: WriteBatch): WriteBatch =
    store.clearAttempt(id)
    batch

  private def forget(batch: WriteBatch): WriteBatch =
    spool.forget(id)
    batch.copy(clear = false)

  private def hasBlobs(batch: WriteBatch, create: Boolean, parts: Vector[LogPiece]): Boolean =
    val outputs = batch.results.exists(_.isOutOfLine)
    val inputs = create && batch.record.exists(flare => Spool.isLarge(flare.request.inputs))
    outputs || inputs || parts.exists(_.beside.isDefined)

  private def keep(batch: WriteBatch, create: Boolean, parts: Vector[LogPiece]): WriteBatch =
    batch.results.foreach(result => result.output.foreach(spool.keep(id, result.worker, _)))
    parts.foreach(part => part.beside.foreach(spool.keepLog(id, _, part.texts)))
    if create then batch.record.foreach(spool.keepInputs)
    batch

  /** Whether no more of the log is kept. */
  private def commit(
      batch: WriteBatch,
      create: Boolean,
      begun: Boolean,
      parts: Vector[LogPiece]
  ): Future[Boolean] =
    val record = batch.record.fold(Record.Same): flare =>
      if create then Record.New(Spool.besides(flare), begun) else Record.Next(flare)
    val change = FlareChange(id, record, batch.results, parts, batch.phases)
    unfinished(batch)(store.write(change)(blocking).map(!_)(using ExecutionContext.parasitic))

  /** First, as the room that it takes may be what the record of the end needs. */
  private def discard(batch: WriteBatch): WriteBatch =
    unneeded(spool.discard(id))
    batch

  private def settle(): Unit = unneeded(spool.forgetInputs(id))

  /** What is stored is stored, whatever becomes of what is not needed any more; the janitor looks for it,
    * too.
    */
  private def unneeded(delete: => Unit): Unit =
    try delete
    catch case NonFatal(problem) => log.atWarn().of(id).setCause(problem).log("a flare's files stay for now")

private[scheduler] object BatchStoring:
  private val log = LoggerFactory.getLogger(classOf[BatchStoring])

  /** More of a log at once stands beside the database, in parts that are read one at a time. */
  private val LargeLog = Inputs.Small

  def isLarge(logs: Vector[LogText]): Boolean = logs.iterator.map(_.cost).sum > LargeLog

  private def logParts(batch: WriteBatch, name: Int => BlobName): Vector[LogPiece] =
    if batch.logs.isEmpty then Vector.empty
    else if !isLarge(batch.logs) then Vector(LogPiece(batch.logs))
    else
      LogChunk.grouped(batch.logs, LogChunk.Part).zipWithIndex.map((texts, number) =>
        LogPiece(texts, Some(name(number)))
      )

  /** What is still to be done of a batch. */
  private final class Unfinished(val left: WriteBatch, cause: Throwable)
      extends RuntimeException(null, cause, false, false)

  private object Unfinished:
    def unapply(failure: Unfinished): Some[(WriteBatch, Throwable)] = Some((failure.left, failure.getCause))
