package burst.controller.store

import burst.node.MonotonicTime
import java.util.concurrent.{Executors, TimeUnit}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext}
import scala.util.Success

/** What is read once for many callers, and on which thread. */
class RememberedSuite extends munit.FunSuite:
  private def counting(validity: Validity = Validity.UntilChanged(), most: Int = 10) =
    val known = Remembered[String, Int](most, validity)
    var reads = 0
    (key: String) =>
      val value = known(key):
        reads += 1
        reads
      (value, reads)

  test("a value is read once, until something is changed"):
    val validity = Validity.UntilChanged()
    val read = counting(validity)
    assertEquals(Vector("a", "a", "b", "a").map(read), Vector((1, 1), (1, 1), (2, 2), (1, 2)))
    validity.changed()
    assertEquals(Vector("a", "a").map(read), Vector((3, 3), (3, 3)))

  test("a value that was read during a change is read again"):
    val validity = Validity.UntilChanged()
    val known = Remembered[String, Int](10, validity)
    assertEquals(known("a") { validity.changed(); 1 }, 1)
    assertEquals(known("a")(2), 2)
    assertEquals(known("a")(3), 2)

  test("with other writers a value is remembered for a while, counted from before it is read"):
    var now = 0
    val known = Remembered[String, Int](10, Validity.TimeToLive(50.nanos, () => MonotonicTime.ofNanos(now)))
    assertEquals(known("a") { now += 20; 1 }, 1)
    now = 25
    assertEquals(known("a")(2), 1)
    now = 50
    assertEquals(known("a")(3), 3)

  test(
    "a value in use is read again before it is too old, by one caller, on a thread that may block"
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
    assertEquals(read().value, Some(Success(1)), "a second read does not wait")
    assertEquals(sent.size, 1)
    sent.foreach(_.run())
    assertEquals(first.value, Some(Success(2)))
    assertEquals(read().value, Some(Success(2)))

  test("a change returns once the others have forgotten the old value"):
    val validity = Validity.TimeToLive(5.millis)
    val known = Remembered[String, Int](10, validity)
    assertEquals(known("a")(1), 1)
    validity.changed()
    validity.awaitForgotten()
    assertEquals(known("a")(2), 2)

  test("waiting for that keeps none of the store's threads"):
    val blocking = Blocking(ExecutionContext.parasitic)
    // Nobody waits for these: on a busy machine it takes long to create them.
    val lasting = Validity.TimeToLive(30.seconds)
    assert(!Vector.fill(10)(blocking(lasting.awaitForgotten())).exists(_.isCompleted))
    val (validity, begun) = (Validity.TimeToLive(20.millis), System.nanoTime)
    val changes = Vector.fill(100)(blocking(validity.awaitForgotten()))
    changes.foreach(Await.result(_, 30.seconds))
    assert(System.nanoTime - begun >= 20.millis.toNanos)

  test("the number of remembered values is limited"):
    val read = counting(most = 2)
    assertEquals(Vector("a", "b", "c", "a").map(read).last, (4, 4))

  test("a known value is returned on the caller's thread; blocking reads use theirs and report failures"):
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
      // A thread may block whatever it did before.
      Blocking.begins()
    finally
      threads.shutdown()
      assert(threads.awaitTermination(10, TimeUnit.SECONDS))
