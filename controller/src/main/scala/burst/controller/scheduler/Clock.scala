package burst.controller.scheduler

import burst.node.MonotonicTime
import burst.protocol.Timestamp

/** A machine's clocks. `now` gives timestamps for records; `elapsed` measures waits and durations. */
final case class Clock(now: () => Timestamp, elapsed: () => MonotonicTime):

  /** Converts a monotonic time to the time of day. */
  def dayTime(at: MonotonicTime): Timestamp = now() + (at - elapsed())

  /** A clock that starts at the present time of day and then advances steadily, even if somebody sets the
    * machine's clock: later moments have larger times, and the difference of two is the time that passed.
    */
  def steady: () => Timestamp =
    val (begin, since) = (now(), elapsed())
    () => begin + (elapsed() - since)

object Clock:
  val ofMachine: Clock = Clock(() => Timestamp.now(), () => MonotonicTime.now())
