package burst.controller.http

import burst.node.MonotonicTime
import scala.concurrent.duration.{DurationInt, DurationLong}

class RateLimiterSuite extends munit.FunSuite:
  private var now = MonotonicTime.Zero
  private def pass(seconds: Double): Unit = now += (seconds * 1e9).toLong.nanos

  test("a namespace may use a minute's worth at once, and then as it refills"):
    val limiter = RateLimiter(() => now)
    (1 to 6).foreach(_ => assertEquals(limiter.take("a", 6), Right(())))
    assertEquals(limiter.take("a", 6), Left(10.seconds))
    assertEquals(limiter.take("b", 6), Right(()))
    pass(9)
    assertEquals(limiter.take("a", 6), Left(1.second))
    pass(1.1)
    assertEquals(limiter.take("a", 6), Right(()))
    assertEquals(limiter.take("a", 6), Left(10.seconds))
    now += 1.hour
    assertEquals((1 to 10).count(_ => limiter.take("a", 6).isRight), 6)

  test("a lowered limit applies immediately, and a limit of zero lets nothing through"):
    val limiter = RateLimiter(() => now)
    assertEquals(limiter.take("a", 100), Right(()))
    assertEquals((1 to 10).count(_ => limiter.take("a", 2).isRight), 2)
    assertEquals(limiter.take("z", 0), Left(60.seconds))

  test("what is given back may be taken again, but never more than a minute's worth"):
    val limiter = RateLimiter(() => now)
    (1 to 6).foreach(_ => limiter.take("a", 6))
    limiter.giveBack("a", 6)
    assertEquals(limiter.take("a", 6), Right(()))
    assertEquals(limiter.take("a", 6), Left(10.seconds))
    (1 to 100).foreach(_ => limiter.giveBack("a", 6))
    assertEquals((1 to 100).count(_ => limiter.take("a", 6).isRight), 6)
    limiter.giveBack("nobody", 6)

  test("of more keys than can be kept, the most recently used ones are"):
    val limiter = RateLimiter(() => now, most = 2)
    assertEquals((1 to 10).count(_ => limiter.take("a", 1).isRight), 1)
    assertEquals(limiter.take("b", 1), Right(()))
    assertEquals(limiter.take("a", 1), Left(60.seconds))
    assertEquals(limiter.take("c", 1), Right(()))
    assertEquals(limiter.take("a", 1), Left(60.seconds))
    assertEquals(limiter.take("b", 1), Right(()), "b is the one that was forgotten")

  test("waiting for the returned time is enough"):
    Seq(1, 7, 59, 61, 1000, 100000).foreach: rate =>
      val limiter = RateLimiter(() => now)
      while limiter.take("a", rate).isRight do ()
      val wait = limiter.take("a", rate).left.getOrElse(fail("not limited"))
      pass(wait.toSeconds.toDouble)
      assertEquals(limiter.take("a", rate), Right(()), s"at $rate a minute after $wait")
