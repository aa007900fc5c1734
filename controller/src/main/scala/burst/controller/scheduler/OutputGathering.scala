package burst.controller.scheduler

import burst.controller.flare.OutputPiece
import burst.controller.store.StoreProblem
import burst.protocol.FlareId
import scala.concurrent.{ExecutionContext, Future}
import scala.util.{Failure, Success, Try}

/** A flare's outputs on their way to the spool, whatever the database is at: one batch at a time. A pack may
  * send more as soon as what it has put out is there. `tell` is called on another thread, with what became of
  * a batch.
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

  /** A pack waits until what it has put out so far is there. */
  def await(pack: Int): Unit = next = next.copy(packs = next.packs + pack)

  /** Why the last batch is not there, until it is. */
  def storageFailure: Option[StorageFailure] = problem

  /** It is not tried again by itself. */
  def hasFailed: Boolean = problem.nonEmpty && underWay.isEmpty

  /** Those of whom something is not there. */
  def workers: Set[Int] = next.workers ++ underWay.fold(Set.empty)(_.batch.workers)

  /** More waits behind a batch that is under way. */
  def isBehind: Boolean = underWay.nonEmpty && !next.isEmpty

  /** The end of what is under way. */
  def end: Future[Unit] = underWay.fold(Future.unit)(_.end)

  /** Begins the next batch, also one that has failed. */
  def begin(): Unit = if underWay.isEmpty && !next.isEmpty then
    val batch = next
    next = Batch()
    val end =
      if batch.pieces.isEmpty then Future.unit else Future(spool.write(id, batch.pieces))(using threads)
    underWay = Some(UnderWay(batch, end))
    end.onComplete(tell)(using ExecutionContext.parasitic)

  /** To be called with what was told: the packs whose outputs are there. */
  def finished(outcome: Try[Unit]): Set[Int] =
    val batch = underWay.fold(Batch())(_.batch)
    underWay = None
    outcome match
      case Success(_) =>
        problem = None
        batch.packs
      case Failure(cause) =>
        // Where it was cleared there is nothing to be tried again.
        problem = Option.unless(batch.isEmpty)(StorageFailure(StoreProblem.of(cause), batch.workers))
        next = Batch(batch.pieces ++ next.pieces, batch.packs ++ next.packs)
        Set.empty

  /** What others have put out is of no use any more. */
  def keepOnly(whole: Int => Boolean): Unit =
    next = next.of(whole)
    underWay = underWay.map(now => now.copy(batch = now.batch.of(whole)))
    problem = problem.flatMap(_.of(whole))

  /** What has been put out so far is of no use any more, and nobody waits for it. */
  def clear(): Unit =
    next = Batch()
    problem = None
    underWay =
      underWay.map(now => UnderWay(Batch(), now.end.recover(_ => ())(using ExecutionContext.parasitic)))

  /** The packs that would wait, of which none does any more. */
  def dropAwaited(): Set[Int] =
    val packs = next.packs ++ underWay.fold(Set.empty)(_.batch.packs)
    next = next.copy(packs = Set.empty)
    underWay = underWay.map(now => now.copy(batch = now.batch.copy(packs = Set.empty)))
    packs

private object OutputGathering:
  /** Pieces at their offsets, which may be written twice, and the packs that wait for them. */
  final case class Batch(pieces: Vector[OutputPiece] = Vector.empty, packs: Set[Int] = Set.empty):
    def isEmpty: Boolean = pieces.isEmpty && packs.isEmpty
    def workers: Set[Int] = pieces.iterator.map(_.worker).toSet
    def of(some: Int => Boolean): Batch = copy(pieces = pieces.filter(piece => some(piece.worker)))

  final case class UnderWay(batch: Batch, end: Future[Unit])
