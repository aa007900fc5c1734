package burst.invoker.pool

import munit.FunSuite

class PrewarmPoolSuite extends FunSuite:
  private val empty = PrewarmPool[String](wanted = 2)

  test("one is started at a time, until there are enough"):
    assert(empty.lacksOne && !empty.begun.lacksOne)
    val one = empty.begun.answered(well = true).put("a")
    assert(one.lacksOne)
    assert(one.hasRoom && !one.put("b").lacksOne && !one.put("b").hasRoom)
    assert(!PrewarmPool[String](wanted = 0).lacksOne)

  test("the oldest is taken, and what is taken or dead lacks again"):
    val (taken, rest) = empty.put("a").put("b").take
    assertEquals((taken, rest.ready), (Some("a"), Vector("b")))
    assert(rest.lacksOne && rest.remove("b").take._1.isEmpty)

  test("failures in a row double the pause, a start that goes well ends it"):
    def pauseAfter(failures: Int) =
      (1 to failures).foldLeft(empty)((pool, _) => pool.begun.answered(well = false)).pause
    assertEquals((1 to 9).map(pauseAfter).toVector, Vector(1, 2, 4, 8, 16, 32, 64, 64, 64))
    val failed = empty.begun.answered(well = false)
    assert(!failed.lacksOne && failed.beat.lacksOne)
    assertEquals(failed.begun.answered(well = true).failures, 0)

  test("it is empty once nothing is ready or on its way"):
    assert(empty.isEmpty && !empty.begun.isEmpty && !empty.put("a").isEmpty)
