package burst.node

import scala.concurrent.duration.DurationInt

class MonotonicTimeSuite extends munit.FunSuite:
  test("moments and durations add up in both directions"):
    val at = MonotonicTime.ofMicros(5)
    assertEquals((at + 2.micros) - at, 2.micros)
    assertEquals(at - (at + 2.micros), -2.micros)
    assertEquals((at - 7.micros).nanos, -2000L)

  test("nothing is later than never, and sums beyond the range stay at its ends"):
    assertEquals(MonotonicTime.Never + 1.day, MonotonicTime.Never)
    assert(MonotonicTime.now() + 36500.days < MonotonicTime.Never)
    val first = MonotonicTime.ofNanos(Long.MinValue)
    assertEquals(first - 1.day, first)
    assertEquals((MonotonicTime.Never - first).toNanos, Long.MaxValue)
    assertEquals((first - MonotonicTime.Never).toNanos, -Long.MaxValue)
    assertEquals((MonotonicTime.Zero - first).toNanos, Long.MaxValue)
