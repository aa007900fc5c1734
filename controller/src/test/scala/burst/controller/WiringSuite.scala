package burst.controller

import burst.controller.cluster.Scheduling
import burst.controller.http.FakeFlareService
import burst.controller.scheduler.Namespaces
import burst.controller.store.{Storage, StoreException}
import com.typesafe.config.{Config, ConfigFactory}
import java.net.{InetAddress, ServerSocket, Socket}
import java.nio.file.{Files, Path}
import java.util.Comparator
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, Future}

class WiringSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val kit = ActorTestKit()
  given ActorSystem[?] = kit.system
  private val stopped = AtomicInteger()

  override def afterAll(): Unit = kit.shutdownTestKit()

  private val directory = FunFixture[Path](
    _ => Files.createTempDirectory("burst-wiring"),
    root => Files.walk(root).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))
  )

  private def config(root: Path, more: String = ""): Config = ConfigFactory
    .parseString(more)
    .withFallback(
      ConfigFactory.parseString(s"""burst.http.port = 0, burst.store.directory = "$root/deep/er" """)
    )
    .withFallback(ConfigFactory.load())

  private def scheduling(storage: Storage): Scheduling = Scheduling(
    FakeFlareService(storage.flares),
    kit.spawn(Behaviors.ignore),
    Vector("direct"),
    "direct",
    () => Future.successful { stopped.incrementAndGet(); () }
  )

  private def start(config: Config, scheduling: Storage => Scheduling = scheduling): Controller =
    Await.result(Wiring.start(config, scheduling), 30.seconds)

  private def failing(config: Config, scheduling: Storage => Scheduling = scheduling): Throwable =
    Await.result(Wiring.start(config, scheduling).failed, 30.seconds)

  private def stop(controller: Controller): Unit = Await.result(controller.shutdown(), 30.seconds)

  directory.test("a failed start leaves nothing open: a taken port, a scheduler's failure or a bad setting"):
    root =>
      val taken = ServerSocket(0, 1, InetAddress.getLoopbackAddress)
      val before = stopped.get
      failing(config(root, s"burst.http.port = ${taken.getLocalPort}"))
      assertEquals(stopped.get, before + 1)
      taken.close()
      assertEquals(failing(config(root), _ => throw IllegalStateException("no")).getMessage, "no")
      failing(config(root, "burst.flare-defaults.packing = tight"))
      failing(config(root, "burst.http.port = many"))
      assertEquals(stopped.get, before + 1)
      // No start has shown credentials so far: the first that succeeds shows them.
      val controller = start(config(root))
      assert(controller.guestCredentials.isDefined)
      stop(controller)

  directory.test("a store that fails after the port is bound frees the port"): root =>
    val port = FreePort()
    val broken = new Namespaces:
      override def establish(namespace: String) = throw StoreException("creating a namespace", null, "no")
    val before = stopped.get
    val starting = Wiring.start(
      config(root, s"burst.http.port = $port"),
      scheduling,
      openStorage = Wiring.storage(_, _).copy(namespaces = broken)
    )
    assertEquals(Await.result(starting.failed, 30.seconds).getMessage, "no")
    intercept[java.net.ConnectException](Socket("127.0.0.1", port))
    assertEquals(stopped.get, before + 1)

  directory.test("guest is created once, and its key can be renewed"): root =>
    val first = start(config(root))
    val pair = first.guestCredentials.getOrElse(fail("not created")).split(":")
    stop(first)
    val second = start(config(root))
    assertEquals(second.guestCredentials, None)
    assert(second.storage.namespaces.authenticate(pair(0), pair(1)).isDefined)
    assert(second.renewCredentials().isDefined)
    stop(second)

  directory.test("a shutdown frees the port, stops the scheduler and closes the stores"): root =>
    val controller = start(config(root))
    val port = controller.address.getPort
    Socket("127.0.0.1", port).close()
    val before = stopped.get
    stop(controller)
    intercept[java.net.ConnectException](Socket("127.0.0.1", port))
    assertEquals(stopped.get, before + 1)
    intercept[StoreException](controller.storage.flares.countByState())
