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

/** Stores batches of one flare, each step on its own threads: data outside the database moves on those of
  * `transfers`, and before the transaction, which makes all other writers wait.
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

  /** The returned future does not fail. Begins once the outputs that belong to the batch are gathered. With
    * `create` the flare is inserted; it has `begun` if its pack already has the package. `logName` names the
    * parts of the log that are kept outside the database.
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
        // On this machine only: it must not wait for a bucket that hangs.
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

  /** On its own and first, at each try: it shows whether the flare is still ours, so that data outside the
    * database may be deleted.
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

  /** Commits the batch; returns whether the log has reached its limit. */
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

  /** Before the commit, as the record of the end may need the space that this frees. */
  private def discard(batch: WriteBatch): WriteBatch =
    unneeded(spool.discard(id))
    batch

  private def settle(): Unit = unneeded(spool.forgetInputs(id))

  /** The batch is stored, even if unneeded data cannot be deleted; the janitor looks for that as well. */
  private def unneeded(delete: => Unit): Unit =
    try delete
    catch case NonFatal(problem) => log.atWarn().of(id).setCause(problem).log("a flare's files stay for now")

private[scheduler] object BatchStoring:
  private val log = LoggerFactory.getLogger(classOf[BatchStoring])

  /** A log batch larger than this is kept outside the database, in parts that are read one at a time. */
  private val LargeLog = Inputs.Small

  def isLarge(logs: Vector[LogText]): Boolean = logs.iterator.map(_.cost).sum > LargeLog

  private def logParts(batch: WriteBatch, name: Int => BlobName): Vector[LogPiece] =
    if batch.logs.isEmpty then Vector.empty
    else if !isLarge(batch.logs) then Vector(LogPiece(batch.logs))
    else
      LogChunk.grouped(batch.logs, LogChunk.Part).zipWithIndex.map((texts, number) =>
        LogPiece(texts, Some(name(number)))
      )

  /** The part of a batch that is still to be stored. */
  private final class Unfinished(val left: WriteBatch, cause: Throwable)
      extends RuntimeException(null, cause, false, false)

  private object Unfinished:
    def unapply(failure: Unfinished): Some[(WriteBatch, Throwable)] = Some((failure.left, failure.getCause))
