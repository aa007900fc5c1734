package burst.controller.store

import java.util.concurrent.{CompletableFuture, TimeUnit}
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.{Failure, Try}

/** Runs calls that block on a database, a disk or a bucket, on threads kept for them. */
final class Blocking(threads: ExecutionContext):
  /** Runs work that may block. A pause that it requests at its end ([[Blocking.pause]]) occupies no thread.
    */
  def apply[A](work: => A): Future[A] =
    val pause = Blocking.Pause()
    Future(pause.gather(work))(threads).transformWith(pause.before)(ExecutionContext.parasitic)

  /** Runs work that only reads a database: immediately on this thread if everything it reads is cached
    * ([[Remembered]]), which saves two thread switches. It may be started twice.
    */
  def reading[A](work: => A): Future[A] = Blocking.ofKnown(work).fold(apply(work))(Future.fromTry)

object Blocking:
  private val mayNot = ThreadLocal.withInitial(() => false)

  /** Returns the result of work, or nothing if it would block. */
  private def ofKnown[A](work: => A): Option[Try[A]] =
    mayNot.set(true)
    try
      Try(work) match
        case Failure(WouldBlock) => None
        case known => Some(known)
    finally mayNot.set(false)

  /** Delays the completion of the current work: without a thread, if it runs in [[Blocking]], else by
    * blocking this thread.
    */
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

  /** To be called before a thread blocks. */
  private[store] def begins(): Unit = if isForbidden then throw WouldBlock

  private[store] def isForbidden: Boolean = mayNot.get

  private object WouldBlock extends RuntimeException(null, null, false, false)
