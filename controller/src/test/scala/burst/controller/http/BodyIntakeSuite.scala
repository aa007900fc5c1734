package burst.controller.http

import burst.controller.http.BodyIntake.Growing
import burst.controller.store.Blocking
import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpRequest}
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future, Promise}

/** On which threads bodies are processed, and within which memory. */
class BodyIntakeSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private given system: ActorSystem = ActorSystem("body-intake")
  private given dispatcher: ExecutionContext = system.dispatcher

  override def afterAll(): Unit =
    val _ = Await.result(system.terminate(), 60.seconds)

  private val kib = 1024
  private val inTurn = ThreadLocal.withInitial(() => false)

  private val turns: ExecutionContext = new ExecutionContext:
    def execute(work: Runnable): Unit = dispatcher.execute: () =>
      inTurn.set(true)
      try work.run()
      finally inTurn.set(false)
    def reportFailure(cause: Throwable): Unit = dispatcher.reportFailure(cause)

  private def intake(memory: Long) = BodyIntake(
    RequestBody(BodyTimes(10.seconds, 0, 1.hour), JsonLimits(10, 10, 10)),
    BodyIntake.Settings(memory / 2, memory, rate = 1, burst = 100L << 20).fitting,
    FairExecutor(turns),
    Blocking(dispatcher)
  )

  /** Whether a body that grows this large was processed immediately and not in turn, or why not at all. */
  private def made(intake: BodyIntake, body: Int, becomes: Int): Either[ApiError, Boolean] =
    Await.result(making(intake, body, becomes)(Future.unit), 60.seconds)

  private def making(intake: BodyIntake, body: Int, becomes: Int)(
      work: => Future[Unit]
  ): Future[Either[ApiError, Boolean]] =
    val text = ByteString("\"" + "x" * (body - 2) + "\"")
    val request = HttpRequest(entity = HttpEntity(ContentTypes.`application/json`, text))
    val growing = Growing(
      becomes - body,
      room => Either.cond(room(becomes), !inTurn.get, ApiError.Busy)
    )
    intake("a", request)(_.growing(_ => Right(growing))(made => work.map(_ => Right(made))))

  test("a small body that grows large is processed in turn, like a large one"):
    val roomy = intake(memory = 10L << 20)
    assertEquals(made(roomy, body = kib, becomes = 2 * kib), Right(true))
    assertEquals(made(roomy, body = kib, becomes = 64 * kib), Right(true))
    assertEquals(made(roomy, body = kib, becomes = 65 * kib), Right(false))
    assertEquals(made(roomy, body = 100 * kib, becomes = 200 * kib), Right(false))

  test("the size a body grows to counts against the memory for large bodies"):
    val scarce = intake(memory = 1L << 20)
    assertEquals(made(scarce, body = kib, becomes = 500 * kib), Right(false))
    val (begun, end) = (Promise[Unit](), Promise[Unit]())
    val first = making(scarce, body = kib, becomes = 400 * kib):
      begun.success(())
      end.future
    Await.result(begun.future, 60.seconds)
    assertEquals(made(scarce, body = kib, becomes = 200 * kib), Left(ApiError.Busy))
    end.success(())
    assertEquals(Await.result(first, 60.seconds), Right(false))
    assertEquals(made(scarce, body = kib, becomes = 500 * kib), Right(false))

  test("a body larger than a namespace's share takes all of it, and is admitted when alone"):
    assertEquals(made(intake(memory = 1L << 20), body = kib, becomes = 3000 * kib), Right(false))
