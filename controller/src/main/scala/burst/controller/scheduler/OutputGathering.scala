package burst.controller.scheduler

import burst.controller.flare.OutputPiece
import burst.controller.store.StoreProblem
import burst.protocol.FlareId
import scala.concurrent.{ExecutionContext, Future}
import scala.util.{Failure, Success, Try}

/** A flare's outputs on their way to the spool, whatever the database is at: one lot at a time. A pack may
  * send more as soon as what it has put out is there. `tell` is called on another thread, with what became of
  * a lot.
  */
private[scheduler] final class OutputGathering(
    spool: Spool,
    id: FlareId,
    threads: ExecutionContext,
    tell: Try[Unit] => Unit
):
  import OutputGathering.{Lot, UnderWay}

  private var next = Lot()
  private var underWay = Option.empty[UnderWay]
  private var problem = Option.empty[Unkept]

  def add(more: Vector[OutputPiece]): Unit = next = next.copy(pieces = next.pieces ++ more)

  /** A pack waits until what it has put out so far is there. */
  def await(pack: Int): Unit = next = next.copy(packs = next.packs + pack)

  /** Why the last lot is not there, until it is. */
  def unkept: Option[Unkept] = problem

  /** It is not tried again by itself. */
  def hasFailed: Boolean = problem.nonEmpty && underWay.isEmpty

  /** Those of whom something is not there. */
  def workers: Set[Int] = next.workers ++ underWay.fold(Set.empty)(_.lot.workers)

  /** More waits behind a lot that is under way. */
  def isBehind: Boolean = underWay.nonEmpty && !next.isEmpty

  /** The end of what is under way. */
  def end: Future[Unit] = underWay.fold(Future.unit)(_.end)

  /** Begins the next lot, also one that has failed. */
  def begin(): Unit = if underWay.isEmpty && !next.isEmpty then
    val lot = next
    next = Lot()
    val end =
      if lot.pieces.isEmpty then Future.unit else Future(spool.write(id, lot.pieces))(using threads)
    underWay = Some(UnderWay(lot, end))
    end.onComplete(tell)(using ExecutionContext.parasitic)

  /** To be called with what was told: the packs whose outputs are there. */
  def finished(outcome: Try[Unit]): Set[Int] =
    val lot = underWay.fold(Lot())(_.lot)
    underWay = None
    outcome match
      case Success(_) =>
        problem = None
        lot.packs
      case Failure(cause) =>
        // Where it was cleared there is nothing to be tried again.
        problem = Option.unless(lot.isEmpty)(Unkept(StoreProblem.of(cause), lot.workers))
        next = Lot(lot.pieces ++ next.pieces, lot.packs ++ next.packs)
        Set.empty

  /** What others have put out is of no use any more. */
  def keepOnly(whole: Int => Boolean): Unit =
    next = next.of(whole)
    underWay = underWay.map(now => now.copy(lot = now.lot.of(whole)))
    problem = problem.flatMap(_.of(whole))

  /** What has been put out so far is of no use any more, and nobody waits for it. */
  def clear(): Unit =
    next = Lot()
    problem = None
    underWay =
      underWay.map(now => UnderWay(Lot(), now.end.recover(_ => ())(using ExecutionContext.parasitic)))

  /** The packs that would wait, of which none does any more. */
  def dropAwaited(): Set[Int] =
    val packs = next.packs ++ underWay.fold(Set.empty)(_.lot.packs)
    next = next.copy(packs = Set.empty)
    underWay = underWay.map(now => now.copy(lot = now.lot.copy(packs = Set.empty)))
    packs

private object OutputGathering:
  /** Pieces at their places, which may be written twice, and the packs that wait for them. */
  final case class Lot(pieces: Vector[OutputPiece] = Vector.empty, packs: Set[Int] = Set.empty):
    def isEmpty: Boolean = pieces.isEmpty && packs.isEmpty
    def workers: Set[Int] = pieces.iterator.map(_.worker).toSet
    def of(some: Int => Boolean): Lot = copy(pieces = pieces.filter(piece => some(piece.worker)))

  final case class UnderWay(lot: Lot, end: Future[Unit])
