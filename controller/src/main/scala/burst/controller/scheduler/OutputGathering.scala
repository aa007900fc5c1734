package burst.controller.scheduler

import burst.controller.flare.OutputPiece
import burst.controller.store.StoreProblem
import burst.protocol.{FlareId, PackId}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.{Failure, Success, Try}

/** Moves a flare's outputs to the spool, one batch at a time, independently of the database. A pack may send
  * more as soon as its outputs so far are there. `tell` is called on another thread, with the outcome of a
  * batch.
  */
private[scheduler] final class OutputGathering(
    spool: Spool,
    id: FlareId,
    threads: ExecutionContext,
    tell: Try[Unit] => Unit
):
  import OutputGathering.{Batch, UnderWay}

  private var next = Batch()
  private var underWay = Option.empty[UnderWay]
  private var problem = Option.empty[StorageFailure]

  def add(more: Vector[OutputPiece]): Unit = next = next.copy(pieces = next.pieces ++ more)

  /** Makes a pack wait until its outputs so far are in the spool. */
  def await(pack: PackId): Unit = next = next.copy(packs = next.packs + pack)

  /** Why the last batch is not in the spool, until it is. */
  def storageFailure: Option[StorageFailure] = problem

  /** Whether a batch has failed that is not retried automatically. */
  def hasFailed: Boolean = problem.nonEmpty && underWay.isEmpty

  /** The workers that have outputs which are not in the spool yet. */
  def workers: Set[Int] = next.workers ++ underWay.fold(Set.empty)(_.batch.workers)

  /** Whether more waits behind the batch in progress. */
  def isBehind: Boolean = underWay.nonEmpty && !next.isEmpty

  /** Completes when the batch in progress has ended. */
  def end: Future[Unit] = underWay.fold(Future.unit)(_.end)

  /** Begins the next batch, or retries one that has failed. */
  def begin(): Unit = if underWay.isEmpty && !next.isEmpty then
    val batch = next
    next = Batch()
    val end =
      if batch.pieces.isEmpty then Future.unit else Future(spool.write(id, batch.pieces))(using threads)
    underWay = Some(UnderWay(batch, end))
    end.onComplete(tell)(using ExecutionContext.parasitic)

  /** Must be called with each outcome that was sent. Returns the packs whose outputs are in the spool. */
  def finished(outcome: Try[Unit]): Set[PackId] =
    val batch = underWay.fold(Batch())(_.batch)
    underWay = None
    outcome match
      case Success(_) =>
        problem = None
        batch.packs
      case Failure(cause) =>
        // If it was cleared there is nothing to retry.
        problem = Option.unless(batch.isEmpty)(StorageFailure(StoreProblem.of(cause), batch.workers))
        next = Batch(batch.pieces ++ next.pieces, batch.packs ++ next.packs)
        Set.empty

  /** The outputs of the other workers are not needed any more. */
  def keepOnly(whole: Int => Boolean): Unit =
    next = next.of(whole)
    underWay = underWay.map(now => now.copy(batch = now.batch.of(whole)))
    problem = problem.flatMap(_.of(whole))

  /** All outputs so far are not needed any more, and nobody waits for them. */
  def clear(): Unit =
    next = Batch()
    problem = None
    underWay =
      underWay.map(now => UnderWay(Batch(), now.end.recover(_ => ())(using ExecutionContext.parasitic)))

  /** Returns the packs that were waiting, none of which does any more. */
  def dropAwaited(): Set[PackId] =
    val packs = next.packs ++ underWay.fold(Set.empty)(_.batch.packs)
    next = next.copy(packs = Set.empty)
    underWay = underWay.map(now => now.copy(batch = now.batch.copy(packs = Set.empty)))
    packs

private object OutputGathering:
  /** Pieces at their offsets, which may be written twice, and the packs that wait for them. */
  final case class Batch(pieces: Vector[OutputPiece] = Vector.empty, packs: Set[PackId] = Set.empty):
    def isEmpty: Boolean = pieces.isEmpty && packs.isEmpty
    def workers: Set[Int] = pieces.iterator.map(_.worker).toSet
    def of(some: Int => Boolean): Batch = copy(pieces = pieces.filter(piece => some(piece.worker)))

  final case class UnderWay(batch: Batch, end: Future[Unit])
