package burst.controller.store

import java.util.concurrent.Executors
import scala.concurrent.{Await, ExecutionContext, Future, Promise}
import scala.concurrent.duration.DurationInt

class TransfersSuite extends munit.FunSuite:
  private val threads = Executors.newFixedThreadPool(8)
  private given pool: ExecutionContext = ExecutionContext.fromExecutor(threads)
  override def afterAll(): Unit = threads.shutdownNow(): Unit

  private def await[A](future: Future[A]): A = Await.result(future, 30.seconds)

  test("namespaces take turns, and each one's transfers keep their order"):
    val transfers = Transfers(pool, most = 3)
    val end = Promise[Unit]()
    val many = Vector.tabulate(100): number =>
      Future { await(end.future); number }(using transfers.of("many"))
    await(Future.sequence(Vector.fill(20)(Future(())(using transfers.of("other")))))
    assert(many.forall(!_.isCompleted))
    end.success(())
    assertEquals(await(Future.sequence(many)), Vector.range(0, 100))

  test("a failed transfer makes room, too"):
    val transfers = Transfers(pool, most = 1)
    val failed = Vector.fill(3)(Future(throw IllegalStateException("no"))(using transfers.of("a")))
    await(Future(())(using transfers.of("a")))
    failed.foreach(one => assert(await(one.failed).isInstanceOf[IllegalStateException]))
