package burst.node

class AllowanceSuite extends munit.FunSuite:
  private def granted(taken: scala.concurrent.Future[Allowance.Grant]) =
    taken.value.fold(fail("it waits"))(_.get)

  test("who asks for more than is left waits, first come first served"):
    val allowance = Allowance(10)
    val first = granted(allowance.take(6))
    val second = allowance.take(5)
    val third = allowance.take(1)
    assert(!second.isCompleted && !third.isCompleted, "the third is not to pass the second")
    first.close()
    val taken = granted(second)
    granted(third).close()
    first.close()
    assert(!allowance.take(6).isCompleted, "what is given back twice counts once")
    taken.close()

  test("what is more than there is counts as all there is"):
    val allowance = Allowance(10)
    val all = granted(allowance.take(100))
    val next = allowance.take(1)
    assert(!next.isCompleted)
    all.close()
    granted(next)

  test("owners take turns, however many of one wait"):
    val allowance = Allowance(10)
    val held = granted(allowance.take(10, "many"))
    val many = Vector.fill(1000)(allowance.take(10, "many"))
    val one = allowance.take(10, "one")
    held.close()
    granted(many.head).close()
    granted(one).close()
    assert(many(1).isCompleted && !many(2).isCompleted)
