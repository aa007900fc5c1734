package burst.controller.store

import java.util.concurrent.{CompletableFuture, TimeUnit}
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.{Failure, Try}

/** Runs what blocks on a database, a disk or a bucket, on threads kept for that. */
final class Blocking(threads: ExecutionContext):
  /** What the work is to wait for at its end ([[Blocking.pause]]) takes none of the threads. */
  def apply[A](work: => A): Future[A] =
    val pause = Blocking.Pause()
    Future(pause.gather(work))(threads).transformWith(pause.before)(ExecutionContext.parasitic)

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

  /** What is done is told so much later: where nobody else waits for it, this thread does. */
  private[store] def pause(span: FiniteDuration): Unit = Option(pausing.get) match
    case Some(pause) => pause.span = pause.span.max(span)
    case None => TimeUnit.NANOSECONDS.sleep(span.toNanos)

  private val pausing = ThreadLocal[Pause]()

  private final class Pause:
    var span: FiniteDuration = Duration.Zero

    def gather[A](work: => A): A =
      pausing.set(this)
      try work
      finally pausing.remove()

    def before[A](result: Try[A]): Future[A] =
      if span <= Duration.Zero then Future.fromTry(result)
      else
        val told = Promise[A]()
        CompletableFuture
          .delayedExecutor(span.toNanos, TimeUnit.NANOSECONDS, _.run())
          .execute(() => told.complete(result))
        told.future

  /** To be called where a thread is about to block. */
  private[store] def begins(): Unit = if isForbidden then throw WouldBlock

  private[store] def isForbidden: Boolean = mayNot.get

  private object WouldBlock extends RuntimeException(null, null, false, false)
