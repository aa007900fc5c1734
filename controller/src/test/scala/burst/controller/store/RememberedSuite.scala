package burst.controller.store

import burst.node.MonotonicTime
import java.util.concurrent.{Executors, TimeUnit}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext}
import scala.util.Success

/** What is read once for many, and where. */
class RememberedSuite extends munit.FunSuite:
  private def counting(validity: Validity = Validity.UntilChanged(), most: Int = 10) =
    val known = Remembered[String, Int](most, validity)
    var reads = 0
    (key: String) =>
      val value = known(key):
        reads += 1
        reads
      (value, reads)

  test("it is read once, until something is changed"):
    val validity = Validity.UntilChanged()
    val read = counting(validity)
    assertEquals(Vector("a", "a", "b", "a").map(read), Vector((1, 1), (1, 1), (2, 2), (1, 2)))
    validity.changed()
    assertEquals(Vector("a", "a").map(read), Vector((3, 3), (3, 3)))

  test("what was read while somebody changed it is read again"):
    val validity = Validity.UntilChanged()
    val known = Remembered[String, Int](10, validity)
    assertEquals(known("a") { validity.changed(); 1 }, 1)
    assertEquals(known("a")(2), 2)
    assertEquals(known("a")(3), 2)

  test("where others change it too it is remembered for a while that begins before it is read"):
    var now = 0
    val known = Remembered[String, Int](10, Validity.TimeToLive(50.nanos, () => MonotonicTime.ofNanos(now)))
    assertEquals(known("a") { now += 20; 1 }, 1)
    now = 25
    assertEquals(known("a")(2), 1)
    now = 50
    assertEquals(known("a")(3), 3)

  test(
    "what is asked for all the time is read again by one, on a thread that may block, before it is too old"
  ):
    var now = 0
    val known = Remembered[String, Int](10, Validity.TimeToLive(50.nanos, () => MonotonicTime.ofNanos(now)))
    assertEquals(known("a")(1), 1)
    now = 34
    var sent = Vector.empty[Runnable]
    val blocking = Blocking(ExecutionContext.fromExecutor(task => sent :+= task))
    def read() = blocking.reading(known("a") { Blocking.begins(); 2 })
    val first = read()
    assertEquals(first.value, None)
    assertEquals(read().value, Some(Success(1)), "a second read waits for nobody")
    assertEquals(sent.size, 1)
    sent.foreach(_.run())
    assertEquals(first.value, Some(Success(2)))
    assertEquals(read().value, Some(Success(2)))

  test("whoever changes what others remember returns when they have forgotten it"):
    val validity = Validity.TimeToLive(5.millis)
    val known = Remembered[String, Int](10, validity)
    assertEquals(known("a")(1), 1)
    validity.changed()
    validity.awaitForgotten()
    assertEquals(known("a")(2), 2)

  test("whoever waits for that on the store's threads keeps none of them"):
    val blocking = Blocking(ExecutionContext.parasitic)
    // Nobody waits for these, which on a busy machine take long to be made.
    val lasting = Validity.TimeToLive(30.seconds)
    assert(!Vector.fill(10)(blocking(lasting.awaitForgotten())).exists(_.isCompleted))
    val (validity, begun) = (Validity.TimeToLive(20.millis), System.nanoTime)
    val changes = Vector.fill(100)(blocking(validity.awaitForgotten()))
    changes.foreach(Await.result(_, 30.seconds))
    assert(System.nanoTime - begun >= 20.millis.toNanos)

  test("no more is remembered than is to be"):
    val read = counting(most = 2)
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
      assertNotEquals(Await.result(there, 30.seconds), Thread.currentThread)
      assertEquals(begun, 2)
      val broken = blocking.reading[Int](throw IllegalStateException("broken"))
      assertEquals(broken.value.flatMap(_.failed.toOption).map(_.getMessage), Some("broken"))
      // Nor is a thread kept from blocking by what it did before.
      Blocking.begins()
    finally
      threads.shutdown()
      assert(threads.awaitTermination(10, TimeUnit.SECONDS))
