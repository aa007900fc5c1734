package burst.invoker.driver

import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.Try

/** Retries until something that should have ended is gone: a process that was killed goes when the kernel has
  * taken back all that it had, which may be gigabytes on a machine that has much else to do.
  */
private[driver] object EndRetry:
  private val First = 1.second
  private val Longest = 1.minute

  /** Ends it again and again, at longer and longer intervals, and completes when that has succeeded. */
  def ended(end: => Boolean)(using ExecutionContext): Future[Unit] =
    val gone = Promise[Unit]()
    def again(pause: FiniteDuration): Unit = Delay.after(pause):
      // Who fails at it tries again.
      if Try(end).getOrElse(false) then gone.success(()) else again((pause * 2).min(Longest))
    again(First)
    gone.future
