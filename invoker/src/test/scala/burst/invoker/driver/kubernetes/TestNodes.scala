package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.api.model.{
  Container,
  ContainerBuilder,
  Node,
  NodeBuilder,
  NodeConditionBuilder,
  NodeSpec,
  NodeStatusBuilder,
  ObjectMetaBuilder,
  Pod,
  PodBuilder,
  PodSpecBuilder,
  PodStatusBuilder,
  Quantity,
  ResourceRequirements,
  ResourceRequirementsBuilder
}
import io.fabric8.kubernetes.client.utils.Serialization
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*

/** Nodes, and other people's pods on them. */
object TestNodes:
  /** Settings in which a slot is a processor and 320 MiB. */
  val settings: KubernetesSettings = KubernetesSettings(
    namespace = None,
    pod = None,
    image = "burst-runtime",
    runtime = None,
    cpuFactor = 1,
    memoryOverhead = 64,
    scratchSize = 100,
    users = UserRange(2_000_065_536L, 2_000_131_071L),
    group = 65534,
    callTimeout = 60.seconds,
    startTimeout = 60.seconds,
    stopTimeout = 1.second,
    parallelism = 4,
    scheduleTimeout = 200.millis
  )

  def node(name: String, cpus: Int = 8, memory: String = "16Gi", pods: Int = 110, since: Int = 0): Node =
    val amounts = Map("cpu" -> cpus.toString, "memory" -> memory, "pods" -> pods.toString)
    val metadata = ObjectMetaBuilder()
      .withName(name)
      .withCreationTimestamp(f"2026-01-01T00:00:$since%02dZ")
      .withLabels(Map("kubernetes.io/os" -> "linux", "kubernetes.io/arch" -> "amd64").asJava)
      .build()
    val status = NodeStatusBuilder()
      .withAllocatable(quantities(amounts))
      .withConditions(NodeConditionBuilder().withType("Ready").withStatus("True").build())
      .build()
    NodeBuilder().withMetadata(metadata).withSpec(NodeSpec()).withStatus(status).build()

  /** A foreign pod, or a pack of `owner`. */
  def pod(name: String, on: String, cpu: String, memory: String = "0", owner: Option[String] = None): Pod =
    val labels = owner.map(PackPod.OwnerLabel -> _).toMap
    val metadata =
      ObjectMetaBuilder().withName(name).withNamespace("others").withLabels(labels.asJava).build()
    val work = container("work", Map("cpu" -> cpu, "memory" -> memory))
    val spec = PodSpecBuilder().withNodeName(on).withContainers(work).build()
    val status = PodStatusBuilder().withPhase("Running").build()
    PodBuilder().withMetadata(metadata).withSpec(spec).withStatus(status).build()

  def container(name: String, amounts: Map[String, String]): Container =
    ContainerBuilder().withName(name).withImage("work").withResources(requests(amounts)).build()

  def requests(amounts: Map[String, String]): ResourceRequirements =
    ResourceRequirementsBuilder().withRequests(quantities(amounts)).build()

  def quantities(amounts: Map[String, String]): java.util.Map[String, Quantity] =
    amounts.transform((_, amount) => Quantity.parse(amount)).asJava

  /** A copy with this change. */
  extension [A](it: A)
    def but(change: A => Unit): A =
      val copy = Serialization.clone(it)
      change(copy)
      copy
