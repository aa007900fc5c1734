package burst.controller.limits

import burst.protocol.Timestamp
import scala.concurrent.duration.DurationInt

class MinuteCountsSuite extends munit.FunSuite:
  /** The current time, in milliseconds. */
  private var now = 0L
  private def counts(most: Int = 100) = MinuteCounts(() => Timestamp.ofMillis(now), most)

  test("a namespace has a fixed number of calls in each calendar minute"):
    val minutes = counts()
    now = 59_500
    (1 to 3).foreach(_ => assertEquals(minutes.take("a", 3), Right(())))
    assertEquals(minutes.take("a", 3), Left(MinuteUsed(3, 3, 1.second)))
    assertEquals(minutes.take("b", 3), Right(()))
    now = 60_000
    (1 to 3).foreach(_ => assertEquals(minutes.take("a", 3), Right(())))
    assertEquals(minutes.take("a", 3), Left(MinuteUsed(3, 3, 60.seconds)))

  test("waiting for the announced time is enough"):
    for began <- Seq(0L, 1L, 999L, 1000L, 59_001L, 59_999L) do
      val minutes = counts()
      now = began
      assertEquals(minutes.take("a", 1), Right(()))
      now += minutes.take("a", 1).fold(_.retryAfter.toMillis, _ => fail("not limited"))
      assertEquals(minutes.take("a", 1), Right(()), s"at $began ms")

  test("a lowered limit applies immediately, and a limit of zero lets nothing through"):
    val minutes = counts()
    now = 10_000
    (1 to 5).foreach(_ => minutes.take("a", 5))
    assertEquals(minutes.take("a", 2), Left(MinuteUsed(5, 2, 50.seconds)))
    assertEquals(minutes.take("z", 0), Left(MinuteUsed(0, 0, 50.seconds)))

  test("what is given back can be taken again in the same minute but not in a later one"):
    val minutes = counts()
    now = 0
    assertEquals(minutes.take("a", 1), Right(()))
    minutes.giveBack("a")
    minutes.giveBack("a")
    minutes.giveBack("nobody")
    assertEquals((1 to 5).count(_ => minutes.take("a", 1).isRight), 1)
    now = 60_000
    minutes.giveBack("a")
    assertEquals((1 to 5).count(_ => minutes.take("a", 1).isRight), 1)

  test("a clock that is set back begins a new minute"):
    val minutes = counts()
    now = 120_000
    assertEquals(minutes.take("a", 1), Right(()))
    now = 30_000
    assertEquals((1 to 5).count(_ => minutes.take("a", 1).isRight), 1)

  test("only the most recent namespaces are kept"):
    val minutes = counts(most = 1)
    now = 0
    assertEquals(minutes.take("a", 1), Right(()))
    assertEquals(minutes.take("b", 1), Right(()))
    assertEquals(minutes.take("b", 1).isLeft, true)
    assertEquals(minutes.take("a", 1), Right(()))
