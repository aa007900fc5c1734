package burst.invoker.driver
package kubernetes

import burst.node.SetupException
import burst.protocol.{ClusterRoom, FailureKind, Operation}
import io.fabric8.kubernetes.api.model.Node
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer
import io.fabric8.kubernetes.client.{Config, KubernetesClientBuilder}
import java.nio.file.Path
import java.util.concurrent.{Executors, LinkedBlockingQueue, TimeUnit}
import java.util.function.UnaryOperator
import scala.annotation.tailrec
import scala.concurrent.{Await, ExecutionContext}
import scala.concurrent.duration.DurationInt
import scala.util.Using

/** The room that an invoker finds in a cluster. */
class ClusterRoomsSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  import TestNodes.{but, node, pod, settings}

  private val threads = Executors.newCachedThreadPool()
  private given ExecutionContext = ExecutionContext.fromExecutor(threads)
  override def afterAll(): Unit = threads.shutdownNow()

  /** An API server with nodes, without a scheduler. */
  private final class Fixture extends AutoCloseable:
    private val server = ApiServer()
    val client = server.connect()
    val cluster = KubernetesCluster.of(server.connect(), settings)
    private val changes = LinkedBlockingQueue[String]()

    def watch(): ClusterRooms =
      val rooms =
        ClusterRooms.watch(settings, "me", cluster, most = 100, "x86_64", summon[ExecutionContext]).get
      rooms.onChange(() => changes.put("changed"))
      rooms

    def addNodes(names: (String, Int)*): Unit =
      names.foreach((name, cpus) => client.nodes().resource(node(name, cpus)).create())
    def addPod(name: String, on: String, cpu: String, owner: Option[String] = None): Unit =
      val _ = client.pods().inNamespace("others").resource(pod(name, on, cpu, owner = owner)).create()

    def cordon(name: String): Unit =
      val change: UnaryOperator[Node] = _.but(_.getSpec.setUnschedulable(true))
      val _ = client.nodes().withName(name).edit(change)

    /** Waits until the rooms have these slots: each change is announced. */
    @tailrec def until(rooms: ClusterRooms, slots: (String, Int)*): Unit =
      val now = rooms.current.nodes.map(it => (it.node, it.slots))
      if now != slots.toVector then
        if Option(changes.poll(60, TimeUnit.SECONDS)).isEmpty then assertEquals(now, slots.toVector)
        until(rooms, slots*)

    def close(): Unit =
      client.close()
      cluster.close()
      server.close()

  private def on(test: Fixture => Unit): Unit = Using.resource(Fixture())(test)

  test("slots are what others leave, and follow pods and nodes that come and go"):
    on: fixture =>
      fixture.addNodes("a" -> 4, "b" -> 4)
      fixture.addPod("web", "a", "1")
      Using.resource(fixture.watch()): rooms =>
        assertEquals(rooms.current.nodes.map(it => (it.node, it.slots)), Vector("a" -> 3, "b" -> 4))
        fixture.addPod("more", "b", "2500m")
        fixture.until(rooms, "a" -> 3, "b" -> 1)
        fixture.client.pods().inNamespace("others").withName("more").delete()
        fixture.until(rooms, "a" -> 3, "b" -> 4)
        fixture.cordon("a")
        fixture.until(rooms, "b" -> 4)
        fixture.addNodes("c" -> 2)
        fixture.until(rooms, "b" -> 4, "c" -> 2)
        fixture.client.nodes().withName("b").delete()
        fixture.until(rooms, "c" -> 2)

  test("an invoker's own packs do not reduce its room, and those of other invokers do"):
    on: fixture =>
      fixture.addNodes("a" -> 4)
      fixture.addPod("mine", "a", "2", owner = Some("me"))
      fixture.addPod("theirs", "a", "1", owner = Some("you"))
      Using.resource(fixture.watch()): rooms =>
        assertEquals(rooms.current.nodes.map(_.slots), Vector(3))

  test("a node that refused a pack is offered no more"):
    on: fixture =>
      fixture.addNodes("a" -> 4, "b" -> 4)
      Using.resource(fixture.watch()): rooms =>
        rooms.refused("a")
        assertEquals(rooms.current.nodes.map(_.node), Vector("b"))

  test("a pod that its node does not accept gives up soon, for lack of room, and leaves nothing behind"):
    on: fixture =>
      fixture.addNodes("a" -> 4, "b" -> 4)
      val rooms = fixture.watch()
      val driver = KubernetesDriver(settings, "me", fixture.cluster, summon[ExecutionContext], Some(rooms))
      assertEquals(driver.room.map(_.nodes.map(_.slots)), Some(Vector(4, 4)))
      val resources = PackResources(2, 64, Path.of("/nowhere"), ContainerBase.Libraries, node = Some("a"))
      val outcome = Await.result(driver.start(resources), 60.seconds)
      val failure = outcome.swap.toOption.get
      assertEquals(
        (failure.kind, failure.operation),
        (FailureKind.StartFailed, Some(Operation.Schedule))
      )
      assert(failure.message.contains("node a had no room for it within 200 milliseconds"), failure.message)
      assertEquals(driver.room.map(_.nodes.map(_.node)), Some(Vector("b")))
      val remaining = fixture.client.pods().inNamespace(fixture.cluster.namespace).list().getItems
      assertEquals(remaining.size, 0)
      Await.result(driver.close(), 60.seconds)

  test("a cluster that does not answer is a set-up problem"):
    withoutNodes: (server, cluster) =>
      server.destroy()
      val failure = intercept[SetupException]:
        ClusterRooms.watch(settings, "me", cluster, 100, "x86_64", summon[ExecutionContext])
      assert(failure.getMessage.contains("cannot be watched"), failure.getMessage)

  test("without the right to watch the cluster the slots are fixed"):
    withoutNodes: (server, cluster) =>
      val rooms = ClusterRooms.watch(settings, "me", cluster, 100, "x86_64", summon[ExecutionContext])
      assertEquals(rooms.map(_.current), Option.empty[ClusterRoom])
      server.destroy()

  /** An API server that shows nothing. */
  private def withoutNodes(test: (KubernetesMockServer, KubernetesCluster) => Unit): Unit =
    val server = KubernetesMockServer(false)
    server.init()
    server.expect().withPath("/api/v1").andReturn(200, """{"groupVersion":"v1","resources":[]}""").always()
    val config = Config.empty()
    config.setMasterUrl(server.url("/"))
    config.setRequestRetryBackoffLimit(0)
    val client = KubernetesClientBuilder().withConfig(config).build()
    val cluster = KubernetesCluster.of(client, settings.copy(callTimeout = 30.seconds))
    test(server, cluster)
    cluster.close()
