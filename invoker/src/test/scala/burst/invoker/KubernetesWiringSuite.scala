package burst.invoker

import burst.invoker.driver.Prerequisites
import burst.invoker.driver.kubernetes.MockCluster
import burst.invoker.pack.PackSetup
import burst.protocol.*
import com.typesafe.config.ConfigFactory
import java.nio.file.Files
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.ActorSystem
import scala.annotation.tailrec
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*

/** An invoker made from its settings, which finds its cluster as in production. */
class KubernetesWiringSuite extends munit.FunSuite:
  override def munitTimeout = 5.minutes
  private val properties = List("kubernetes.master", "kubernetes.namespace")
  private lazy val cluster = MockCluster(Prerequisites.runtimeBinary)
  private lazy val kit = ActorTestKit()

  override def afterAll(): Unit =
    properties.foreach(System.clearProperty)
    cluster.close()
    kit.shutdownTestKit()

  test("a pod is kept ready for packs like the last one, and a stopped invoker leaves nothing"):
    given ActorSystem[?] = kit.system
    properties
      .zip(List(cluster.url, cluster.client.getNamespace))
      .foreach((key, value) => System.setProperty(key, value))
    val settings = s"""burst.invoker {
      driver = kubernetes, runtime-binary = "${Prerequisites.runtimeBinary}", heartbeat-interval = 50ms,
      directory = "${Files.createTempDirectory("invoker")}"
    }"""
    val config = InvokerConfig.read(ConfigFactory.parseString(settings).withFallback(ConfigFactory.load()))
    val controller = kit.createTestProbe[RegistryCommand[Invoker.Command]]()
    val invoker = Wiring.prepare(config).start(controller.ref)
    val pack = PackSetup(kit)
    invoker.ref ! InvokerRequest(PreparePack(pack.assignment), pack.controller.ref.unsafeUpcast)
    def pods = cluster.client.pods().list().getItems.asScala.toVector

    @tailrec def receive[A](what: PartialFunction[RegistryCommand[Invoker.Command], A]): A =
      val message = controller.receiveMessage(60.seconds)
      if what.isDefinedAt(message) then what(message) else receive(what)

    receive { case PackageRequest(FetchPackage(id, _), replyTo) =>
      replyTo ! PackageMissing(id)
    }
    assert(pack.untilEnded()(1).error.exists(_.message.contains("does not have it")))
    val driver = receive {
      case Heartbeat(status) if status.prewarmedPacks == 1 => status.driver
    }
    assertEquals(driver, "kubernetes")
    val memory = pods.map(_.getSpec.getContainers.get(0).getResources.getLimits.get("memory").getAmount)
    assertEquals(memory, Vector(((3 * 128L + 64) << 20).toString), "for the three workers of that pack")
    Await.result(invoker.stop(30.seconds), 2.minutes)
    assertEquals(pods, Vector.empty)
    pack.runtime.close()
