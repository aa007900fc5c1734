package burst.controller.http

import java.util.concurrent.{CountDownLatch, Executors}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}

class TurnsSuite extends munit.FunSuite:
  test("namespaces take turns, however much one of them has to do"):
    val executor = Executors.newSingleThreadExecutor()
    try
      val turns = Turns(ExecutionContext.fromExecutor(executor))
      val (begun, begin) = (CountDownLatch(1), CountDownLatch(1))
      var done = Vector.empty[String]
      val first = turns("a"):
        begun.countDown()
        begin.await()
      begun.await()
      def work(name: String) = turns(name.take(1))(done :+= name)
      val all = Vector("a1", "a2", "a3", "b1", "c1", "b2").map(work)
      begin.countDown()
      given ExecutionContext = ExecutionContext.parasitic
      Await.result(Future.sequence(first +: all), 10.seconds)
      assertEquals(done, Vector("a1", "b1", "c1", "a2", "b2", "a3"))
    finally executor.shutdownNow()

  test("what fails is told, and the next one has its turn"):
    given ExecutionContext = ExecutionContext.global
    val turns = Turns(summon[ExecutionContext])
    val failed = turns("a")(throw IllegalStateException("provoked"))
    intercept[IllegalStateException](Await.result(failed, 10.seconds))
    assertEquals(Await.result(turns("a")(7), 10.seconds), 7)
