package burst.controller.scheduler

import org.apache.pekko.actor.typed.scaladsl.TimerScheduler
import scala.concurrent.duration.DurationInt

/** Limits how long a failing store is tolerated: it is tried `again` after longer and longer pauses, until
  * that is `overdue`. Belongs to a flare's actor.
  */
private[scheduler] final class StoreBackoff(
    settings: SchedulerSettings,
    timers: TimerScheduler[FlareActor.Command],
    again: FlareActor.Command,
    overdue: FlareActor.Command
):
  private val LongestPause = 5.seconds

  /** How many times in a row the store has failed, and whether it has done so for too long. */
  private var failures = 0
  private var exhausted = false

  def isExhausted: Boolean = exhausted
  def exhaust(): Unit = exhausted = true

  def isFirst: Boolean = failures == 0

  /** The store has failed: the deadline runs from the first failure. */
  def begin(): Unit =
    if isFirst then timers.startSingleTimer(overdue, overdue, settings.storeDeadline)

  def scheduleRetry(): Unit =
    val pause = (settings.storeRetryPause * (1L << failures.min(10))).min(LongestPause)
    failures += 1
    timers.startSingleTimer(again, again, pause)

  def reset(): Unit =
    timers.cancel(overdue)
    failures = 0
    exhausted = false
