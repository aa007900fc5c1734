package burst.controller.http

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.http.Readiness.Part
import burst.controller.store.{Blocking, EmbeddedStorage}
import burst.protocol.FlareId
import io.circe.parser
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CountDownLatch, Executors}
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.http.scaladsl.model.HttpEntity
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future, Promise}

class ReadinessSuite extends EmbeddedStorage:
  private val kit = ActorTestKit()
  private given ActorSystem[?] = kit.system

  override def afterAll(): Unit = kit.shutdownTestKit()

  private def asked(readiness: Readiness): (Int, Map[String, String]) =
    val response = Await.result(readiness.answer(), 60.seconds)
    val body = response.entity.asInstanceOf[HttpEntity.Strict].data.utf8String
    val json = parser.parse(body).fold(throw _, identity).hcursor
    assertEquals(json.get[Boolean]("ready"), Right(response.status.isSuccess))
    val parts = json.keys.toSeq.flatten.filter(_ != "ready")
    response.status.intValue -> parts.map(part => part -> json.get[String](part).getOrElse("")).toMap

  test("any unhealthy part makes the controller not ready"):
    val parts = Vector(
      Part("well", () => Future.successful(None)),
      Part("full", () => Future.successful(Some("it is full"))),
      Part("broken", () => Future.failed(IllegalStateException("password=secret"))),
      Part("throws", () => throw IllegalStateException("secret")),
      Part("silent", () => Promise[Option[String]]().future)
    )
    val (status, said) = asked(Readiness(parts, 2.seconds))
    assertEquals(status, 503)
    assertEquals(said("well"), "ok")
    assertEquals(said("full"), "it is full")
    assertEquals(said("silent"), "it has not answered within 2 seconds")
    for part <- Seq("broken", "throws") do assertEquals(said(part), "it fails; see the controller's log")

  test("a part that has not answered is not asked again meanwhile"):
    val tried = AtomicInteger()
    val answer = Promise[Option[String]]()
    val readiness = Readiness(
      Vector(
        Part(
          "slow",
          () =>
            tried.incrementAndGet()
            answer.future
        )
      ),
      50.millis
    )
    for _ <- 1 to 3 do assertEquals(asked(readiness)._1, 503)
    assertEquals(tried.get, 1)
    answer.success(None)
    // A part that has answered is asked again after a while, and may be late on a busy machine.
    assert(Iterator.continually(asked(readiness)._1).take(200).contains(200))

  storage.test("a bucket that hangs delays nothing but its own part"): s =>
    val answers = CountDownLatch(1)
    val blobs = new FlareBlobStore:
      export s.blobs.{close as _, probe as _, read as _, *}
      override def probe(): Unit = answers.await()
    val single = Executors.newSingleThreadExecutor()
    val blocking = Blocking(ExecutionContext.fromExecutor(single))
    val settings = Readiness.Settings(20.seconds, minFree = 1)
    val service = FakeFlareService(s.flares)
    try
      val readiness = Readiness.of(
        settings,
        s.copy(blobs = blobs),
        Path.of("/tmp"),
        service,
        blocking,
        () => false
      )
      val (status, said) = asked(readiness)
      assertEquals(status, 503)
      assertEquals(said.filter(_._2 != "ok").keySet, Set("blobs"))
      assertEquals(Await.result(blocking(1), 60.seconds), 1)
    finally
      answers.countDown()
      single.shutdown()

  test("a directory must have room and be writable"):
    val directory = Files.createTempDirectory("ready")
    try
      assertEquals(Readiness.diskProblem(directory, 1), None)
      assert(Readiness.diskProblem(directory, Long.MaxValue).exists(_.contains("are needed")))
      assert(Readiness.diskProblem(Path.of("/proc"), 1).isDefined)
    finally Files.delete(directory)
