package burst.invoker

import munit.FunSuite
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, Future}

class MainSuite extends FunSuite:
  test("the end is waited for, but not for ever"):
    Await.result(Main.atMost(20.millis, Future.never), 10.seconds)
    Await.result(Main.atMost(1.hour, Future.unit), 10.seconds)
