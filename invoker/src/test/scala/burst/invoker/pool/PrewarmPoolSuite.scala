package burst.invoker.pool

import munit.FunSuite

class PrewarmPoolSuite extends FunSuite:
  private val empty = PrewarmPool[String](wanted = 2, Some(PackSize(4, 16)))

  test("one is started at a time, until there are enough"):
    assertEquals(empty.lacking, Some(PackSize(4, 16)))
    assertEquals(empty.begun.lacking, None)
    val one = empty.begun.answered(well = true).put("a")
    assert(one.lacking.nonEmpty)
    assert(one.hasRoom && one.put("b").lacking.isEmpty && !one.put("b").hasRoom)
    assertEquals(empty.copy(wanted = 0).lacking, None)

  test("the oldest is taken, and what is taken or dead lacks again"):
    val (taken, rest) = empty.put("a").put("b").take(PackSize(1, 2))
    assertEquals((taken, rest.ready), (Some("a"), Vector("b")))
    assertEquals(rest.lacking, Some(PackSize(1, 2)))
    assert(rest.remove("b").take(PackSize(1, 2))._1.isEmpty)

  test("failures in a row double the pause, a start that goes well ends it"):
    def pauseAfter(failures: Int) =
      (1 to failures).foldLeft(empty)((pool, _) => pool.begun.answered(well = false)).pause
    assertEquals((1 to 9).map(pauseAfter).toVector, Vector(1, 2, 4, 8, 16, 32, 64, 64, 64))
    val failed = empty.begun.answered(well = false)
    assert(failed.lacking.isEmpty && failed.beat.lacking.nonEmpty)
    assertEquals(failed.begun.answered(well = true).failures, 0)

  test("without a guess none is started until a pack was asked for"):
    val unknown = empty.copy(size = None)
    assertEquals(unknown.lacking, None)
    assertEquals(unknown.take(PackSize(3, 8))._2.lacking, Some(PackSize(3, 8)))

  test("it is empty once nothing is ready or on its way"):
    assert(empty.isEmpty && !empty.begun.isEmpty && !empty.put("a").isEmpty)
