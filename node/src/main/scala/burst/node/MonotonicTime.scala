package burst.node

import burst.protocol.{saturatedDifference, saturatedSum}
import java.util.concurrent.TimeUnit.{MICROSECONDS, NANOSECONDS}
import scala.concurrent.duration.FiniteDuration

/** A moment by a clock that only goes on, from wherever: whatever waits, or lasts, is measured by it. It says
  * nothing to another process. Moments are compared as numbers: this platform's machines count from their
  * start, so that none of them wraps around.
  */
opaque type MonotonicTime = Long

object MonotonicTime:
  /** Where a clock of a test or a simulation may begin. */
  val Zero: MonotonicTime = 0L

  /** After all others: of what nobody knows when it will be. */
  val Never: MonotonicTime = Long.MaxValue

  def ofNanos(nanos: Long): MonotonicTime = nanos
  def ofMicros(micros: Long): MonotonicTime = MICROSECONDS.toNanos(micros)

  /** By this machine's clock. */
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
