package burst.invoker.driver

import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.Try

/** Retries until something that should have ended is gone: a killed process disappears when the kernel has
  * reclaimed its resources, which can be gigabytes on a busy machine.
  */
private[driver] object EndRetry:
  private val FirstPause = 1.second
  private val LongestPause = 1.minute

  /** Tries to end it at increasing intervals, and completes when that has succeeded. */
  def ended(end: => Boolean)(using ExecutionContext): Future[Unit] =
    val succeeded = Promise[Unit]()
    def again(pause: FiniteDuration): Unit = Delay.after(pause):
      // An exception counts as a failed attempt.
      if Try(end).getOrElse(false) then succeeded.success(()) else again((pause * 2).min(LongestPause))
    again(FirstPause)
    succeeded.future
