package burst.controller.http

import burst.controller.limits.ByteRateLimiter
import munit.FunSuite
import scala.concurrent.duration.{Duration, DurationInt}
import scala.concurrent.{Await, Future, Promise}

/** Which bodies get memory, and when. */
class BodyBudgetSuite extends FunSuite:
  /** A body that is under way until `end` is called. */
  private final class Body(budget: BodyBudget, namespace: String):
    private val work = Promise[Unit]()
    private val begun = Promise[BodyBudget.Share]()
    private val whole = budget.within(namespace): share =>
      begun.success(share)
      work.future
    val share: BodyBudget.Share = Await.result(begun.future, 20.seconds)

    def end(): Unit =
      work.success(())
      Await.result(whole, 20.seconds)

  private def isGranted(reserved: Future[Unit]): Boolean = reserved.isCompleted

  test("namespaces take turns, and each namespace's bodies are served in order of arrival"):
    val budget = BodyBudget(10, 10)
    val names = Vector("a", "a", "a", "b", "b", "c")
    val bodies = names.map(Body(budget, _))
    val reserved = bodies.map(_.share.reserve(10))
    Vector(0, 1, 3, 5, 2, 4).foreach: next =>
      assertEquals(reserved.map(isGranted).count(identity), 1 + Vector(0, 1, 3, 5, 2, 4).indexOf(next))
      assert(isGranted(reserved(next)), next)
      bodies(next).end()

  test("a namespace that has its full share lets others pass"):
    val budget = BodyBudget(10, 5)
    val (first, second, other) = (Body(budget, "a"), Body(budget, "a"), Body(budget, "b"))
    assert(isGranted(first.share.reserve(5)))
    val waits = second.share.reserve(5)
    assert(!isGranted(waits))
    assert(other.share.take(1))
    assert(isGranted(other.share.reserve(4)))
    first.end()
    assert(isGranted(waits))

  test("no body passes one that waits for the shared memory, until that one leaves"):
    val budget = BodyBudget(10, 8)
    val Vector(a, b, c, d) = Vector("a", "b", "c", "d").map(Body(budget, _)): @unchecked
    assert(isGranted(a.share.reserve(8)))
    val large = b.share.reserve(5)
    val small = c.share.reserve(2)
    assert(!isGranted(large) && !isGranted(small) && !d.share.take(1))
    b.end()
    assert(isGranted(small))
    assert(!isGranted(large))
    a.end()
    assert(d.share.take(8))

  test("released memory is no longer held and is not given back twice"):
    val budget = BodyBudget(10, 10)
    val (first, second) = (Body(budget, "a"), Body(budget, "b"))
    assert(isGranted(first.share.reserve(10)))
    first.share.release()
    assert(isGranted(second.share.reserve(10)))
    first.end()
    assert(!isGranted(Body(budget, "c").share.reserve(1)))

  test("a body that got memory is charged, whether it arrived or not; one that got none is not"):
    val budget = BodyBudget(100, 100, Some(ByteRateLimiter(rate = 1, burst = 1000)))
    def announced(bytes: Long)(meanwhile: BodyBudget.Share => Unit) =
      val body = Body(budget, "a")
      val pause = body.share.announce(bytes)
      meanwhile(body.share)
      body.end()
      pause
    val none = Some(Duration.Zero)
    assertEquals(announced(1000)(_ => ()), none)
    val holds = Body(budget, "b")
    assert(isGranted(holds.share.reserve(100)))
    assertEquals(announced(1000)(share => assert(!isGranted(share.reserve(100)))), none)
    assertEquals(announced(1000)(share => assert(!share.take(100))), none)
    holds.end()
    assertEquals(announced(1000)(share => assert(isGranted(share.reserve(100)))), none)
    assert(announced(1)(_ => ()).exists(_ > Duration.Zero))
