package burst.controller.scheduler

import munit.FunSuite

class LogPaceSuite extends FunSuite:
  test("a namespace may write a burst, then its rate, and takes nothing from another's"):
    var now = 0L
    val pace = new LogPace(rate = 10, burst = 100, () => now)
    assert(pace.take("a", 60))
    assert(!pace.take("a", 60))
    assert(pace.take("a", 40))
    assert(!pace.take("a", 1))
    assert(pace.take("b", 100))
    now += 1_500_000_000L
    assert(pace.take("a", 15))
    assert(!pace.take("a", 1))
    now += 3600_000_000_000L
    assert(pace.take("a", 100))
    assert(!pace.take("a", 1))
