package burst.node

class FairSemaphoreSuite extends munit.FunSuite:
  private def granted(taken: scala.concurrent.Future[FairSemaphore.Permit]) =
    taken.value.fold(fail("the request waits"))(_.get)

  test("requests beyond what is left wait, first come first served"):
    val semaphore = FairSemaphore(10)
    val first = granted(semaphore.acquire(6))
    val second = semaphore.acquire(5)
    val third = semaphore.acquire(1)
    assert(!second.isCompleted && !third.isCompleted, "the third must not overtake the second")
    first.close()
    val taken = granted(second)
    granted(third).close()
    first.close()
    assert(!semaphore.acquire(6).isCompleted, "a permit given back twice counts once")
    taken.close()

  test("a request for more than the total counts as the total"):
    val semaphore = FairSemaphore(10)
    val all = granted(semaphore.acquire(100))
    val next = semaphore.acquire(1)
    assert(!next.isCompleted)
    all.close()
    granted(next)

  test("owners take turns, however many requests one of them has waiting"):
    val semaphore = FairSemaphore(10)
    val held = granted(semaphore.acquire(10, "many"))
    val many = Vector.fill(1000)(semaphore.acquire(10, "many"))
    val one = semaphore.acquire(10, "one")
    held.close()
    granted(many.head).close()
    granted(one).close()
    assert(many(1).isCompleted && !many(2).isCompleted)
