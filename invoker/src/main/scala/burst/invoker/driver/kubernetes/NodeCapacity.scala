package burst.invoker.driver
package kubernetes

import burst.protocol.{ClusterRoom, NodeRoom}
import io.fabric8.kubernetes.api.model.{Node, Quantity, Taint}
import scala.jdk.CollectionConverters.*

/** The properties of a node that matter to packs. `since` is its creation time in Kubernetes' format;
  * `eligible` is whether it is for pods without any tolerations, `schedulable` whether such pods can be
  * scheduled to it now.
  */
private[driver] final case class NodeInfo(
    name: String,
    since: String,
    eligible: Boolean,
    schedulable: Boolean,
    allocatable: PodUse
)

private[driver] object NodeInfo:
  private val Blocking = Set("NoSchedule", "NoExecute")

  /** Kubernetes' own taints come and go with a node's state; others reserve the node for certain pods. */
  private val Passing = "node.kubernetes.io/"

  /** The label by which pods select nodes. */
  val HostLabel = "kubernetes.io/hostname"
  val OsLabel = "kubernetes.io/os"
  val ArchLabel = "kubernetes.io/arch"

  def host(node: Node): String =
    val labels = Option(node.getMetadata.getLabels)
    labels.flatMap(known => Option(known.get(HostLabel))).getOrElse(node.getMetadata.getName)

  /** `arch` is what packs are built for, as reported by `uname`. */
  def of(node: Node, arch: String): NodeInfo =
    val labels = Option(node.getMetadata.getLabels).fold(Map.empty[String, String])(_.asScala.toMap)
    val fits = labels.get(OsLabel).forall(_ == "linux") &&
      labels.get(ArchLabel).forall(_ == goArch(arch))
    val spec = Option(node.getSpec)
    val taints =
      spec.fold(Vector.empty[Taint])(_.getTaints.asScala.toVector).filter(t => Blocking(t.getEffect))
    val cordoned = spec.exists(_.getUnschedulable == java.lang.Boolean.TRUE)
    val ready = Option(node.getStatus).exists:
      _.getConditions.asScala.exists(it => it.getType == "Ready" && it.getStatus == "True")
    val leaving = node.getMetadata.getDeletionTimestamp != null
    NodeInfo(
      node.getMetadata.getName,
      Option(node.getMetadata.getCreationTimestamp).getOrElse(""),
      eligible = fits && taints.forall(_.getKey.startsWith(Passing)),
      schedulable = fits && ready && taints.isEmpty && !cordoned && !leaving,
      allocatable(node)
    )

  /** Translates `uname`'s name to the one that Kubernetes uses. */
  def goArch(arch: String): String = arch match
    case "x86_64" => "amd64"
    case "aarch64" => "arm64"
    case other => other

  private def allocatable(node: Node): PodUse =
    val amounts = Option(node.getStatus)
      .flatMap(status => Option(status.getAllocatable))
      .fold(Map.empty[String, Quantity])(_.asScala.toMap)
    PodUse.read(amounts).copy(pods = amounts.get("pods").fold(0)(Quantity.getAmountInBytes(_).intValue))

/** Computes how many slots a cluster has for an invoker's packs: a pure function.
  *
  * For each node it is what can be allocated less what the pods of `others` request there, in slots of one
  * worker, limited by whichever of CPU, memory and pods is used up first; its memory is given separately, for
  * workers that need more than a slot's. Packs lie whole on a node, and one of `k` workers never needs more
  * than `k` slots, as each stands for a pack of its own: packs that fit the slots of a node fit the node.
  * Nodes that take no pods have no slots.
  *
  * ''Several invokers'' share a cluster by nodes, dealt out in turn in the order of their creation: a new
  * node changes nothing for the others; one that is removed shifts those created after it, whose packs count
  * as others' pods for their next invoker. Nodes that are cordoned or not ready keep their turn.
  *
  * Example: slots of 1 CPU and 320 MiB. Node a has 8 CPUs and 16 GiB, of which others request 3 CPUs: 5 slots
  * and 16 GiB. Node b has 8 CPUs and 2 GiB: 6 slots. Of at most 9 slots, b gives 4.
  */
private[driver] object NodeCapacity:
  def room(
      nodes: Iterable[NodeInfo],
      others: Map[String, PodUse],
      settings: KubernetesSettings,
      most: Int,
      closed: Set[String] = Set.empty
  ): ClusterRoom =
    val one = PodLimits.of(settings, 1, settings.slotMemory)
    // packs of several workers are rounded down only once
    val need = one.copy(cpuMillis = one.cpuMillis.max(math.ceil(settings.cpuFactor * 1000).toLong))
    val own = nodes.toVector
      .filter(_.eligible)
      .sortBy(node => (node.since, node.name))
      .zipWithIndex
      .collect { case (node, turn) if turn % settings.share.of == settings.share.index => node }
    val rooms = own.filter(node => node.schedulable && !closed(node.name)).map: node =>
      val free = node.allocatable - others.getOrElse(node.name, PodUse.Nothing)
      NodeRoom(node.name, slots(free, need), free.memory >> 20)
    val (_, bounded) = rooms.foldLeft((most, Vector.empty[NodeRoom])):
      case ((remaining, taken), room) =>
        val slots = room.slots.min(remaining)
        (remaining - slots, taken :+ room.copy(slots = slots))
    ClusterRoom(bounded.filter(_.slots > 0), settings.memoryOverhead, most)

  private def slots(free: PodUse, need: PodLimits): Int =
    val most = List(free.cpuMillis / need.cpuMillis, free.memory / need.memory, free.pods.toLong)
    most.min.max(0L).min(Int.MaxValue).toInt
