package burst.controller.store

import scala.concurrent.{ExecutionContext, Future}
import scala.util.{Failure, Try}

/** Runs what blocks on a database, a disk or a bucket, on threads kept for that. */
final class Blocking(threads: ExecutionContext):
  def apply[A](work: => A): Future[A] = Future(work)(threads)

  /** What only reads a database: done at once on this thread where all that it reads is known
    * ([[Remembered]]), which spares two switches of threads. It may be begun twice.
    */
  def reading[A](work: => A): Future[A] = Blocking.ofKnown(work).fold(apply(work))(Future.fromTry)

object Blocking:
  private val mayNot = ThreadLocal.withInitial(() => false)

  /** Nothing where it would block. */
  private def ofKnown[A](work: => A): Option[Try[A]] =
    mayNot.set(true)
    try
      Try(work) match
        case Failure(WouldBlock) => None
        case known => Some(known)
    finally mayNot.set(false)

  /** To be called where a thread is about to block. */
  private[store] def begins(): Unit = if mayNot.get then throw WouldBlock

  private object WouldBlock extends RuntimeException(null, null, false, false)
