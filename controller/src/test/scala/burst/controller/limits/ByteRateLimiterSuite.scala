package burst.controller.limits

import burst.node.MonotonicTime
import munit.FunSuite
import scala.concurrent.duration.DurationInt

class ByteRateLimiterSuite extends FunSuite:
  test("a namespace may write a burst, then its rate, and takes nothing from another's"):
    var now = MonotonicTime.Zero
    val pace = ByteRateLimiter(rate = 10, burst = 100, () => now)
    assert(pace.take("a", 60))
    assert(!pace.take("a", 60))
    assert(pace.take("a", 40))
    assert(!pace.take("a", 1))
    assert(pace.take("b", 100))
    now += 1500.millis
    assert(pace.take("a", 15))
    assert(!pace.take("a", 1))
    now += 1.hour
    assert(pace.take("a", 100))
    assert(!pace.take("a", 1))

  test("what is spent beyond is waited for afterwards"):
    var now = MonotonicTime.Zero
    val pace = ByteRateLimiter(rate = 10, burst = 100, () => now)
    assertEquals(pace.spend("a", 100), Some(0.seconds))
    assertEquals(pace.spend("a", 20), Some(2.seconds))
    assertEquals(pace.spend("b", 20), Some(0.seconds))
    now += 1.second
    assertEquals(pace.spend("a", 0), Some(1.second))
    now += 1.second
    assertEquals(pace.spend("a", 5), Some(500.millis))

  test("nobody is a burst behind, but for what is more than one by itself"):
    var now = MonotonicTime.Zero
    val pace = ByteRateLimiter(rate = 10, burst = 100, () => now)
    (1 to 2).foreach(_ => pace.spend("a", 100))
    assertEquals(pace.spend("a", 1), None)
    assertEquals(pace.spend("a", 0), Some(10.seconds))
    assertEquals(pace.spend("b", 350), Some(25.seconds))
    assertEquals(pace.spend("b", 1), None)
    now += 1.second
    assertEquals(pace.spend("a", 10), Some(10.seconds))
    pace.giveBack("a", 50)
    assertEquals(pace.spend("a", 50), Some(10.seconds))
