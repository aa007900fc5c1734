package burst.invoker.driver
package sandbox

import burst.node.ServerAddress
import burst.protocol.{BackendConfig, Failure, FlareId}
import io.circe.syntax.*
import java.nio.file.Files
import java.util.concurrent.Executors
import scala.concurrent.duration.DurationInt
import scala.concurrent.{ExecutionContext, Future}

/** How packs of several invokers are connected, in orders and answers; the shim is a script. */
class RemotePeersSuite extends munit.FunSuite:
  import ScriptedShim.answering

  private val threads = Executors.newCachedThreadPool()
  private given ExecutionContext = ExecutionContext.fromExecutor(threads)
  private val packageDir = Files.createTempDirectory("package")
  override def afterAll(): Unit =
    threads.shutdownNow()
    PackageFiles.delete(packageDir)

  private val flare = FlareId.random()
  private def access(elsewhere: Int, uri: Option[String] = None) =
    NetworkAccess(flare, packs = 4, BackendConfig("some", uri, None), egress = false, elsewhere)

  private def started(driver: Driver): Future[Container] = driver
    .start(PackResources(1, memoryMiB = 32, packageDir, ContainerBase.Libraries))
    .map(_.fold(failure => fail(failure.message), identity))

  private def expectSuccess[A](outcome: Either[Failure, A]): A =
    outcome.fold(failure => fail(failure.message), identity)

  private def message(outcome: Either[Failure, Any]): String =
    outcome.swap.toOption.fold(fail("the request succeeded"))(_.message)

  private val listen = """{"listen":{"host":"10.0.0.7","packs":2}}"""
  private val close = """{"close":true}"""
  private def peers(endpoints: String*) = s"""{"peers":${endpoints.asJson.noSpaces}}"""

  /** The ports of four packs, one each. */
  private val first = "10.0.0.7:4001"
  private val second = "10.0.0.7:4002"
  private val third = "10.0.0.8:4001"
  private val fourth = "10.0.0.9:4001"

  test("packs of one invoker find each other without the shim"):
    val shim = ScriptedShim(answering())
    val driver = shim.driver()
    for
      container <- started(driver)
      connected <- driver.connect(container, access(elsewhere = 0))
      published = driver.publish(container, "unix:/a")
      found <- driver.find(container, Vector(Some("unix:/a"), Some("unix:/b")))
      _ = driver.disconnect(container)
      _ <- driver.close()
    yield
      assertEquals((connected, published), (Right(()), "unix:/a"))
      assertEquals(found, Right(Vector(Some("unix:/a"), Some("unix:/b"))))
      assertEquals(shim.orders, Vector.empty)

  test("packs of other invokers arrive at the shim's port, and are reached through its socket"):
    // the first one that asks, and the second
    val port = s"$$([ $$(wc -l < $$orders) = 1 ] && echo $first || echo $second)"
    val shim = ScriptedShim(
      answering("listen" -> s"listening for packs $port", "peers" -> "peers at /s", "close" -> "closed")
    )
    val driver = shim.driver()
    val endpoints = Vector(Some(third), Some(first), None, Some(second), Some(fourth))
    for
      one <- started(driver)
      other <- started(driver)
      _ <- driver.connect(one, access(elsewhere = 2)).map(expectSuccess)
      _ <- driver.connect(other, access(elsewhere = 2)).map(expectSuccess)
      published = Vector(driver.publish(one, "unix:/one"), driver.publish(other, "unix:/other"))
      found <- driver.find(one, endpoints).map(expectSuccess)
      // the group's next flare
      again <- driver.find(one, endpoints).map(expectSuccess)
      _ = driver.disconnect(one)
      _ = driver.disconnect(other)
      after = driver.publish(one, "unix:/one")
      _ <- driver.close()
    yield
      assertEquals(published, Vector(first, second))
      val translated =
        Vector(Some("relay:/s:0"), Some("unix:/one"), None, Some("unix:/other"), Some("relay:/s:1"))
      assertEquals((found, again), (translated, translated))
      assertEquals(after, "unix:/one")
      assertEquals(shim.orders, Vector(listen, listen, peers(third, fourth), close, close))

  test("packs whose backend has a server meet only there"):
    val shim = ScriptedShim(answering("open" -> "opened"))
    val driver = shim.driver(servers = _ => Vector(ServerAddress("s", 1)))
    for
      container <- started(driver)
      _ <- driver.connect(container, access(elsewhere = 2, Some("some://s"))).map(expectSuccess)
      found <- driver.find(container, Vector(None, None)).map(expectSuccess)
      _ <- driver.close()
    yield
      assertEquals(found, Vector(None, None))
      assertEquals(shim.orders, Vector("""{"open":["s:1"]}"""))

  test("a shim that cannot listen, or cannot reach packs, is reported in its words"):
    val notListening = ScriptedShim(answering("listen" -> "listen failed: no port is free")).driver()
    val notReaching = ScriptedShim(
      answering("listen" -> s"listening for packs $first", "peers" -> "peers failed: too many")
    ).driver()
    for
      one <- started(notListening)
      listenOutcome <- notListening.connect(one, access(elsewhere = 1))
      other <- started(notReaching)
      _ <- notReaching.connect(other, access(elsewhere = 1)).map(expectSuccess)
      reachOutcome <- notReaching.find(other, Vector(Some(first), Some(third)))
      _ <- Future.traverse(Vector(notListening, notReaching))(_.close())
    yield
      assertEquals(message(listenOutcome), "packs of other machines cannot come to it: no port is free")
      assertEquals(message(reachOutcome), "packs of other machines cannot be reached: too many")

  test("the wait for a silent shim is limited"):
    val settings = SandboxPrerequisites.settings.copy(connectTimeout = 200.millis)
    val driver = ScriptedShim(answering()).driver(settings = settings)
    for
      container <- started(driver)
      outcome <- driver.connect(container, access(elsewhere = 1))
      _ <- driver.close()
    yield assert(message(outcome).contains("has not answered"), outcome)
