package burst.controller.limits

import burst.node.MonotonicTime
import munit.FunSuite
import scala.concurrent.duration.DurationInt

class ByteRateLimiterSuite extends FunSuite:
  test("a namespace may write a burst, then its rate, and takes nothing from another's"):
    var now = MonotonicTime.Zero
    val limiter = ByteRateLimiter(rate = 10, burst = 100, () => now)
    assert(limiter.take("a", 60))
    assert(!limiter.take("a", 60))
    assert(limiter.take("a", 40))
    assert(!limiter.take("a", 1))
    assert(limiter.take("b", 100))
    now += 1500.millis
    assert(limiter.take("a", 15))
    assert(!limiter.take("a", 1))
    now += 1.hour
    assert(limiter.take("a", 100))
    assert(!limiter.take("a", 1))

  test("what is spent beyond is waited for afterwards"):
    var now = MonotonicTime.Zero
    val limiter = ByteRateLimiter(rate = 10, burst = 100, () => now)
    assertEquals(limiter.spend("a", 100), Some(0.seconds))
    assertEquals(limiter.spend("a", 20), Some(2.seconds))
    assertEquals(limiter.spend("b", 20), Some(0.seconds))
    now += 1.second
    assertEquals(limiter.spend("a", 0), Some(1.second))
    now += 1.second
    assertEquals(limiter.spend("a", 5), Some(500.millis))

  test("nobody is a burst behind, but for what is more than one by itself"):
    var now = MonotonicTime.Zero
    val limiter = ByteRateLimiter(rate = 10, burst = 100, () => now)
    (1 to 2).foreach(_ => limiter.spend("a", 100))
    assertEquals(limiter.spend("a", 1), None)
    assertEquals(limiter.spend("a", 0), Some(10.seconds))
    assertEquals(limiter.spend("b", 350), Some(25.seconds))
    assertEquals(limiter.spend("b", 1), None)
    now += 1.second
    assertEquals(limiter.spend("a", 10), Some(10.seconds))
    limiter.giveBack("a", 50)
    assertEquals(limiter.spend("a", 50), Some(10.seconds))
