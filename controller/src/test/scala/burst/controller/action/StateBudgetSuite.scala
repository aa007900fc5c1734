package burst.controller.action

class StateBudgetSuite extends munit.FunSuite:
  private val mega = 1024L * 1024

  test("a namespace gets a quarter, others the rest, and what is given back is available again"):
    val budget = StateBudget(8 * mega)
    assertEquals(budget.take("a", 2 * mega), None)
    assertEquals(budget.take("a", 1).map(_.status), Some(ActivationStatus.ApplicationError))
    for namespace <- Vector("b", "c", "d") do assertEquals(budget.take(namespace, 2 * mega), None)
    assertEquals(budget.take("e", 1).map(_.status), Some(ActivationStatus.InternalError))
    assertEquals(budget.take("e", 0), None)
    budget.giveBack("a", 2 * mega)
    assertEquals(budget.take("e", mega), None)
    assertEquals(budget.take("a", mega), None)

  test("a single state always fits"):
    assertEquals(StateBudget(mega).take("a", RunResult.MostBytes), None)
