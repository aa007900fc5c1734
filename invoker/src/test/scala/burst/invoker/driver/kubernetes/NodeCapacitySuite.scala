package burst.invoker.driver
package kubernetes

import burst.protocol.{ClusterRoom, NodeRoom}
import io.fabric8.kubernetes.api.model.{ContainerStatusBuilder, Node, Pod, TaintBuilder}
import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import scala.jdk.CollectionConverters.*

class NodeCapacitySuite extends ScalaCheckSuite:
  import TestNodes.{but, container, node, pod, quantities, requests, settings}

  private val GiB = 1024L

  private def room(
      nodes: Seq[Node],
      pods: Seq[Pod] = Nil,
      settings: KubernetesSettings = settings,
      most: Int = 1000,
      closed: Set[String] = Set.empty
  ): ClusterRoom =
    val others = pods.flatMap(pod => PodUse.node(pod).map(_ -> PodUse.of(pod)))
    val held = others.groupMapReduce(_._1)(_._2)(_ + _)
    NodeCapacity.room(nodes.map(NodeInfo.of(_, "x86_64")), held, settings, most, closed)

  private def slots(nodes: Node*): Vector[(String, Int)] =
    room(nodes).nodes.map(node => (node.node, node.slots))

  test("the worked example: processors or memory, whichever is used up first, up to the maximum"):
    val nodes = Seq(node("a"), node("b", memory = "2Gi"))
    val others = Seq(pod("web", "a", "3"))
    assertEquals(
      room(nodes, others),
      ClusterRoom(Vector(NodeRoom("a", 5, 16 * GiB), NodeRoom("b", 6, 2 * GiB)), 64, 1000)
    )
    assertEquals(room(nodes, others, most = 9).nodes.map(_.slots), Vector(5, 4))

  test("a node without room or pods has no slots, and neither has one closed for now"):
    assertEquals(slots(node("a", cpus = 0), node("b", pods = 0), node("c", memory = "100Mi")), Vector.empty)
    assertEquals(slots(node("a", pods = 3)), Vector("a" -> 3))
    assertEquals(room(Seq(node("a")), Seq(pod("web", "a", "20"))).nodes, Vector.empty)
    assertEquals(room(Seq(node("a"), node("b")), closed = Set("a")).nodes.map(_.node), Vector("b"))

  test("nodes that accept no pods have no slots"):
    val plain = node("a")
    val cordoned = plain.but(_.getSpec.setUnschedulable(true))
    val notReady = plain.but(_.getStatus.getConditions.get(0).setStatus("Unknown"))
    def tainted(effect: String) =
      plain.but(_.getSpec.setTaints(List(TaintBuilder().withKey("gpu").withEffect(effect).build()).asJava))
    val arm = plain.but(_.getMetadata.setLabels(Map("kubernetes.io/arch" -> "arm64").asJava))
    val leaving = plain.but(_.getMetadata.setDeletionTimestamp("2026-01-02T00:00:00Z"))
    for out <- List(cordoned, notReady, tainted("NoSchedule"), tainted("NoExecute"), arm, leaving) do
      assertEquals(slots(out), Vector.empty, out.toString)
    assertEquals(slots(tainted("PreferNoSchedule")), Vector("a" -> 8))

  test("several invokers divide the nodes, and a cordoned node keeps its place"):
    val nodes = Vector(node("z", since = 1), node("m", since = 2), node("a", since = 3))
    def of(index: Int, nodes: Seq[Node] = nodes) =
      room(nodes, settings = settings.copy(share = NodeShare(index, 2))).nodes.map(_.node)
    assertEquals((of(0), of(1)), (Vector("z", "a"), Vector("m")))
    val cordoned = nodes(0).but(_.getSpec.setUnschedulable(true))
    assertEquals((of(0, cordoned +: nodes.tail), of(1, cordoned +: nodes.tail)), (Vector("a"), Vector("m")))
    assertEquals(of(1, nodes :+ node("b", since = 4)), Vector("m", "b"), "a new node changes nothing else")

  test("a share is an index and a count"):
    assertEquals(NodeShare.parse("1/3"), Right(NodeShare(1, 3)))
    for wrong <- List("", "3", "2/2", "-1/2", "a/b") do
      assertEquals(
        NodeShare.parse(wrong).left.map(_.sentence),
        Left(s"'$wrong' is no share: give 0/2 to the first of two invokers")
      )

  test("a pod holds what Kubernetes' scheduler counts"):
    val plain = pod("web", "a", "500m", "1Gi")
    assertEquals(PodUse.of(plain), PodUse(cpuMillis = 500, memory = 1L << 30, pods = 1))
    def cpu(change: Pod => Unit) = PodUse.of(plain.but(change)).cpuMillis
    val first = container("first", Map("cpu" -> "2"))
    val sidecar = container("sidecar", Map("cpu" -> "1")).but(_.setRestartPolicy("Always"))
    assertEquals(cpu(_.getSpec.setInitContainers(List(first).asJava)), 2000L)
    assertEquals(cpu(_.getSpec.setInitContainers(List(sidecar).asJava)), 1500L)
    assertEquals(cpu(_.getSpec.setInitContainers(List(sidecar, first).asJava)), 3000L)
    assertEquals(cpu(_.getSpec.setResources(requests(Map("cpu" -> "4")))), 4000L)
    assertEquals(cpu(_.getSpec.setOverhead(quantities(Map("cpu" -> "250m")))), 750L)
    val before = ContainerStatusBuilder().withName("work").withResources(requests(Map("cpu" -> "3"))).build()
    assertEquals(
      cpu(_.getStatus.setContainerStatuses(List(before).asJava)),
      3000L,
      "the node still has the old value"
    )

  test("pods that have ended or have no node yet hold nothing"):
    val plain = pod("web", "a", "1")
    def phase(name: String) = PodUse.node(plain.but(_.getStatus.setPhase(name)))
    assertEquals(PodUse.node(plain), Some("a"))
    assertEquals(phase("Pending"), Some("a"))
    assertEquals(List("Succeeded", "Failed").flatMap(phase), Nil)
    assertEquals(PodUse.node(plain.but(_.getSpec.setNodeName(""))), None)

  property("packs of any sizes that fit a node's slots fit the node itself, beside other pods"):
    val some =
      for
        cpus <- Gen.choose(0, 64)
        memory <- Gen.choose(0, 65536)
        pods <- Gen.choose(0, 30)
        others <- Gen.listOf(Gen.zip(Gen.choose(0, 4000), Gen.choose(0, 4096)))
        factor <- Gen.oneOf(0.001, 0.1009, 0.15, 1.0, 2.5)
        cuts <- Gen.listOf(Gen.choose(1, 8))
      yield (cpus, memory, pods, others, factor, cuts)
    forAll(some): (cpus, memory, pods, others, factor, cuts) =>
      val own = settings.copy(cpuFactor = factor)
      val otherPods = others.zipWithIndex.map { case ((cpu, mib), i) =>
        pod(s"o$i", "a", s"${cpu}m", s"${mib}Mi")
      }
      val known = room(Seq(node("a", cpus, s"${memory}Mi", pods)), otherPods, own)
      val offered = known.nodes.map(_.slots).sum
      // first fit of packs of these sizes, and single workers for the rest
      val (packs, remaining) = cuts.foldLeft((Vector.empty[Int], offered)):
        case ((packs, remaining), size) =>
          if size <= remaining then (packs :+ size, remaining - size) else (packs, remaining)
      val limits = (packs ++ Vector.fill(remaining)(1)).map(PodLimits.of(own, _, own.slotMemory))
      val used = otherPods.map(PodUse.of).foldLeft(PodUse.Nothing)(_ + _)
      if offered > 0 then
        assert(used.cpuMillis + limits.map(_.cpuMillis).sum <= cpus * 1000L)
        assert(used.memory + limits.map(_.memory).sum <= (memory.toLong << 20))
        assert(used.pods + limits.size <= pods)
