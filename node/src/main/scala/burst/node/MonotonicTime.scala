package burst.node

import burst.protocol.{saturatedDifference, saturatedSum}
import java.util.concurrent.TimeUnit.{MICROSECONDS, NANOSECONDS}
import scala.concurrent.duration.FiniteDuration

/** A time by a clock that only advances, from an arbitrary start: all waits and durations are measured by it.
  * It means nothing to another process. Times are compared as numbers: this platform's machines count from
  * their start, so none of them wraps around.
  */
opaque type MonotonicTime = Long

object MonotonicTime:
  /** Where the clock of a test or a simulation can begin. */
  val Zero: MonotonicTime = 0L

  /** Later than all others: for an event whose time nobody knows. */
  val Never: MonotonicTime = Long.MaxValue

  def ofNanos(nanos: Long): MonotonicTime = nanos
  def ofMicros(micros: Long): MonotonicTime = MICROSECONDS.toNanos(micros)

  /** The current time by this machine's clock. */
  def now(): MonotonicTime = System.nanoTime()

  extension (at: MonotonicTime)
    def nanos: Long = at

    def +(time: FiniteDuration): MonotonicTime = saturatedSum(at, time.toNanos)
    def -(time: FiniteDuration): MonotonicTime = saturatedSum(at, -time.toNanos)
    def -(earlier: MonotonicTime): FiniteDuration =
      FiniteDuration(saturatedDifference(at, earlier).max(-Long.MaxValue), NANOSECONDS)

    def <(other: MonotonicTime): Boolean = at < other
    def <=(other: MonotonicTime): Boolean = at <= other
    def >(other: MonotonicTime): Boolean = at > other
    def >=(other: MonotonicTime): Boolean = at >= other
    def max(other: MonotonicTime): MonotonicTime = Math.max(at, other)
    def min(other: MonotonicTime): MonotonicTime = Math.min(at, other)

  given Ordering[MonotonicTime] = Ordering.Long
