package burst.controller.limits

import burst.node.MonotonicTime
import munit.FunSuite
import scala.concurrent.duration.DurationInt

class ByteRateLimiterSuite extends FunSuite:
  test("a namespace can write a burst, then writes at its rate, and does not affect other namespaces"):
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

  test("spending beyond the burst is paid for by waiting afterwards"):
    var now = MonotonicTime.Zero
    val limiter = ByteRateLimiter(rate = 10, burst = 100, () => now)
    assertEquals(limiter.spend("a", 100), Some(0.seconds))
    assertEquals(limiter.spend("a", 20), Some(2.seconds))
    assertEquals(limiter.spend("b", 20), Some(0.seconds))
    now += 1.second
    assertEquals(limiter.spend("a", 0), Some(1.second))
    now += 1.second
    assertEquals(limiter.spend("a", 5), Some(500.millis))

  test("debt is limited to one burst, unless a single write is larger than that"):
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
