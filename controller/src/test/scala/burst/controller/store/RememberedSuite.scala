package burst.controller.store

import java.util.concurrent.{Executors, TimeUnit}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext}

/** What is read once for many, and where. */
class RememberedSuite extends munit.FunSuite:
  private def counting(writes: Option[() => Long], most: Int = 10) =
    val known = Remembered[String, Int](most, writes)
    var reads = 0
    (key: String) =>
      val value = known(key):
        reads += 1
        reads
      (value, reads)

  test("it is read once, until something is written"):
    var writes = 0L
    val read = counting(Some(() => writes))
    assertEquals(Vector("a", "a", "b", "a").map(read), Vector((1, 1), (1, 1), (2, 2), (1, 2)))
    writes += 1
    assertEquals(Vector("a", "a").map(read), Vector((3, 3), (3, 3)))

  test("what was read while somebody wrote is read again"):
    var writes = 0L
    val known = Remembered[String, Int](10, Some(() => writes))
    assertEquals(known("a") { writes += 1; 1 }, 1)
    assertEquals(known("a")(2), 2)
    assertEquals(known("a")(3), 2)

  test("where others write to the database too nothing is remembered"):
    val read = counting(None)
    assertEquals(Vector("a", "a").map(read), Vector((1, 1), (2, 2)))

  test("no more is remembered than is to be"):
    val read = counting(Some(() => 0L), most = 2)
    assertEquals(Vector("a", "b", "c", "a").map(read).last, (4, 4))

  test("what is known is done on the thread that asks, what blocks on those for that, and its failure told"):
    val threads = Executors.newSingleThreadExecutor()
    try
      val blocking = Blocking(ExecutionContext.fromExecutor(threads))
      def thread() = Thread.currentThread
      val here = blocking.reading(thread())
      assert(here.isCompleted)
      assertEquals(Await.result(here, 1.second), Thread.currentThread)
      var begun = 0
      val there = blocking.reading:
        begun += 1
        Blocking.begins()
        thread()
      assertNotEquals(Await.result(there, 10.seconds), Thread.currentThread)
      assertEquals(begun, 2)
      val broken = blocking.reading[Int](throw IllegalStateException("broken"))
      assertEquals(broken.value.flatMap(_.failed.toOption).map(_.getMessage), Some("broken"))
      // Nor is a thread kept from blocking by what it did before.
      Blocking.begins()
    finally
      threads.shutdown()
      assert(threads.awaitTermination(10, TimeUnit.SECONDS))
