package burst.controller.http

import java.util.concurrent.{CountDownLatch, Executors}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}

class FairExecutorSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  test("namespaces take turns, however much work one of them has"):
    val thread = Executors.newSingleThreadExecutor()
    try
      val executor = FairExecutor(ExecutionContext.fromExecutor(thread))
      val (begun, begin) = (CountDownLatch(1), CountDownLatch(1))
      var done = Vector.empty[String]
      val first = executor("a"):
        begun.countDown()
        begin.await()
      begun.await()
      def work(name: String) = executor(name.take(1))(done :+= name)
      val all = Vector("a1", "a2", "a3", "b1", "c1", "b2").map(work)
      begin.countDown()
      given ExecutionContext = ExecutionContext.parasitic
      Await.result(Future.sequence(first +: all), 60.seconds)
      assertEquals(done, Vector("a1", "b1", "c1", "a2", "b2", "a3"))
    finally thread.shutdownNow()

  test("a failure is returned, and the next task gets its turn"):
    given ExecutionContext = ExecutionContext.global
    val executor = FairExecutor(summon[ExecutionContext])
    val failed = executor("a")(throw IllegalStateException("provoked"))
    intercept[IllegalStateException](Await.result(failed, 60.seconds))
    assertEquals(Await.result(executor("a")(7), 60.seconds), 7)
