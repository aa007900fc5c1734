package burst.invoker.driver

import scala.concurrent.duration.DurationInt
import scala.concurrent.{ExecutionContext, Future, Promise, TimeoutException}

class StallTolerantAwaitSuite extends munit.FunSuite:
  private given ExecutionContext = munitExecutionContext
  test("a result that arrives late, but in time, is returned"):
    val late = Promise[Int]()
    Delay.after(1200.millis):
      val _ = late.success(7)
    assertEquals(StallTolerantAwait.result(late.future, 8.seconds), 7)

  test("the wait is limited"):
    val problem = intercept[TimeoutException](StallTolerantAwait.result(Future.never, 80.millis))
    assert(problem.getMessage.contains("80 milliseconds"), problem.getMessage)

  test("a failure is thrown immediately and unchanged, even a time-out of the future's own"):
    val own = new TimeoutException("its own")
    for cause <- Vector[Throwable](IllegalStateException("broken"), own) do
      val seen = intercept[Throwable](StallTolerantAwait.result(Future.failed[Int](cause), 1.hour))
      assertEquals(seen, cause)
