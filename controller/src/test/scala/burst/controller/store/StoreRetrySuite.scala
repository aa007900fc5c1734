package burst.controller.store

import burst.controller.blob.BlobStoreException
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.Scheduler
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future}

/** Which failures are retried, and for how long. */
class StoreRetrySuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  private given Scheduler = kit.system.scheduler
  private given ExecutionContext = kit.system.executionContext
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val away = IllegalStateException("it is away")

  /** Fails with these errors one after another, and then succeeds. */
  private final class Work(failures: Throwable*):
    val begun: AtomicInteger = AtomicInteger()
    def apply(): Future[Int] =
      val times = begun.getAndIncrement()
      failures.lift(times).fold(Future.successful(times))(Future.failed)

  private def tried(limit: FiniteDuration, work: () => Future[Int], goesOn: () => Boolean = () => true) =
    Await.ready(StoreRetry(limit, goesOn)("a test")(work), 60.seconds).value.get

  test("a failure of the store is retried until the call succeeds"):
    val work = Work(StoreException("reading", away), BlobStoreException("reading", away))
    assertEquals(tried(20.seconds, () => work()).toOption, Some(2))

  test("a failure before the future exists is retried, too"):
    val begun = AtomicInteger()
    def work(): Future[Int] =
      if begun.getAndIncrement() == 0 then throw StoreException("reading", away) else Future.successful(7)
    assertEquals(tried(20.seconds, () => work()).toOption, Some(7))

  test("other failures are not retried"):
    val work = Work(away)
    assertEquals(tried(20.seconds, () => work()).failed.toOption, Some(away))
    assertEquals(work.begun.get, 1)

  test("each call has its own limit"):
    val retry = StoreRetry(10.seconds)
    val failure = StoreException("reading", away)
    val lasting = Work(Vector.fill(100)(failure)*)
    assertEquals(
      Await.ready(retry("a test")(() => lasting()), 60.seconds).value.flatMap(_.failed.toOption),
      Some(failure)
    )
    // After pauses of 200, 400, 800, 1600 and 3200 ms the next pause, of 5 s, would exceed the limit.
    assert(lasting.begun.get <= 6, lasting.begun.get)
    val end = System.nanoTime() + 5.seconds.toNanos
    while System.nanoTime() < end do Thread.onSpinWait()
    val short = Work(failure)
    assertEquals(Await.result(retry("a test")(() => short()), 60.seconds), 1)

  test("calls can share one limit"):
    val failure = StoreException("reading", away)
    val together = StoreRetry(300.millis).fromNow
    val first = Work(Vector.fill(100)(failure)*)
    Await.ready(together("a test")(() => first()), 60.seconds)
    val end = System.nanoTime() + 300.millis.toNanos
    while System.nanoTime() < end do Thread.onSpinWait()
    val second = Work(failure)
    assert(Await.ready(together("a test")(() => second()), 60.seconds).value.exists(_.isFailure))
    assertEquals(second.begun.get, 1)

  test("nothing is retried once it is no longer wanted"):
    val work = Work(StoreException("reading", away))
    assert(tried(20.seconds, () => work(), () => false).isFailure)
    assertEquals(work.begun.get, 1)
