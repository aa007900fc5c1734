package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.api.model.{Container as PodContainerSpec, Pod, Quantity, ResourceRequirements}
import scala.jdk.CollectionConverters.*

/** What is used of a node, or available: CPU in thousandths, memory in bytes, and pods. */
private[driver] final case class PodUse(cpuMillis: Long, memory: Long, pods: Int):
  def +(other: PodUse): PodUse =
    PodUse(cpuMillis = cpuMillis + other.cpuMillis, memory = memory + other.memory, pods = pods + other.pods)
  def -(other: PodUse): PodUse =
    PodUse(cpuMillis = cpuMillis - other.cpuMillis, memory = memory - other.memory, pods = pods - other.pods)

  /** The larger of the two for each resource. */
  def or(other: PodUse): PodUse =
    PodUse(
      cpuMillis = cpuMillis.max(other.cpuMillis),
      memory = memory.max(other.memory),
      pods = pods.max(other.pods)
    )

/** What a pod is guaranteed, as Kubernetes' scheduler counts it: pure functions. */
private[driver] object PodUse:
  val Nothing: PodUse = PodUse(cpuMillis = 0, memory = 0, pods = 0)
  private val EndedPhases = Set("Succeeded", "Failed")

  /** The node whose resources it holds: a pod that is being deleted holds them until it is gone. */
  def node(pod: Pod): Option[String] =
    val ended = Option(pod.getStatus).flatMap(status => Option(status.getPhase)).exists(EndedPhases)
    Option(pod.getSpec.getNodeName).filter(name => name.nonEmpty && !ended)

  /** The larger of what its containers need together, including sidecars, and of what runs before those; or
    * the amounts specified for the pod as a whole; plus the overhead of its runtime class.
    */
  def of(pod: Pod): PodUse =
    val spec = pod.getSpec
    val (sidecars, before) = spec.getInitContainers.asScala.toVector.partition(_.getRestartPolicy == "Always")
    val always = sidecars.map(promised(pod, _)).foldLeft(Nothing)(_ + _)
    val running = spec.getContainers.asScala.map(promised(pod, _)).foldLeft(always)(_ + _)
    // only the sidecars listed before such a container run beside it: all are counted
    val beginning = before.map(container => read(container.getResources)).foldLeft(Nothing)(_ or _) + always
    val parts = running or beginning
    val specified = Option(spec.getResources)
      .flatMap(resources => Option(resources.getRequests))
      .fold(Map.empty[String, Quantity])(_.asScala.toMap)
    val podLevel = read(specified)
    val overhead = Option(spec.getOverhead).fold(Nothing)(amounts => read(amounts.asScala.toMap))
    val cpuMillis = if specified.contains("cpu") then podLevel.cpuMillis else parts.cpuMillis
    val memory = if specified.contains("memory") then podLevel.memory else parts.memory
    PodUse(
      cpuMillis = overhead.cpuMillis + cpuMillis,
      memory = overhead.memory + memory,
      pods = 1
    )

  def read(amounts: Map[String, Quantity]): PodUse = PodUse(
    cpuMillis = amounts.get("cpu").fold(0L)(Quantity.getAmountInBytes(_).movePointRight(3).longValue),
    memory = amounts.get("memory").fold(0L)(Quantity.getAmountInBytes(_).longValue),
    pods = 0
  )

  /** What it requests, and what it still has while it is being reduced. */
  private def promised(pod: Pod, container: PodContainerSpec): PodUse =
    val status =
      Option(pod.getStatus).flatMap(_.getContainerStatuses.asScala.find(_.getName == container.getName))
    read(container.getResources) or status.fold(Nothing)(status => read(status.getResources))

  private def read(resources: ResourceRequirements): PodUse =
    Option(resources)
      .flatMap(known => Option(known.getRequests))
      .fold(Nothing)(requests => read(requests.asScala.toMap))
