package burst.invoker.driver
package kubernetes

import burst.protocol.WantedPacks
import io.fabric8.kubernetes.api.model.{
  Affinity,
  AffinityBuilder,
  NodeAffinityBuilder,
  NodeSelectorBuilder,
  NodeSelectorRequirementBuilder,
  NodeSelectorTermBuilder,
  ObjectMetaBuilder,
  OwnerReference,
  Pod,
  PodBuilder,
  PodSpecBuilder
}
import scala.jdk.CollectionConverters.*
import scala.util.Try

/** What Kubernetes is asked for in place of a pack that has no room: pure. It requests what the pack would,
  * and is for none of the nodes that are there; who adds nodes to the cluster sees that it fits on a new one.
  * Were it given a node, it would end at once.
  */
private[driver] object DemandPod:
  val Label = "burst.demand"
  private val Workers = "burst.workers"
  private val Memory = "burst.memory"

  /** The pods of one kind are alike. */
  final case class Kind(workers: Int, memory: Int)

  def pod(
      settings: KubernetesSettings,
      owner: String,
      kind: Kind,
      hosts: Set[String],
      invoker: Option[OwnerReference]
  ): Pod =
    val name = PackPod.name(owner)
    val container = PackPod.container(settings, name, PodLimits.of(settings, kind.workers, kind.memory))
    container.setEnv(List().asJava)
    container.setArgs(List("--version").asJava)
    val spec = PackPod.spec(settings, settings.users.first, container, None)
    PodBuilder()
      .withMetadata(
        ObjectMetaBuilder()
          .withName(name)
          .withLabels(Map(
            "app.kubernetes.io/name" -> "burst-demand",
            Label -> owner,
            Workers -> kind.workers.toString,
            Memory -> kind.memory.toString
          ).asJava)
          .withOwnerReferences(invoker.toList.asJava)
          .build()
      )
      .withSpec(PodSpecBuilder(spec).withAffinity(Option.when(hosts.nonEmpty)(off(hosts)).orNull).build())
      .build()

  def kind(pod: Pod): Option[Kind] =
    val labels = pod.getMetadata.getLabels
    Try(Kind(labels.get(Workers).toInt, labels.get(Memory).toInt)).toOption

  /** Whether it still stands for something: it was given no node, and is not about to go. */
  def waits(pod: Pod): Boolean =
    Option(pod.getSpec.getNodeName).forall(_.isEmpty) && pod.getMetadata.getDeletionTimestamp == null

  /** Pods to make, at most `most` in all. */
  def kinds(packs: Vector[WantedPacks], most: Int): Map[Kind, Int] =
    packs.foldLeft((most, Map.empty[Kind, Int])) { case ((left, all), wanted) =>
      val kind = Kind(wanted.workers, wanted.memory)
      val count = wanted.count.min(left)
      (left - count, if count > 0 then all.updated(kind, all.getOrElse(kind, 0) + count) else all)
    }._2

  private def off(hosts: Set[String]): Affinity =
    val label = NodeSelectorRequirementBuilder()
      .withKey(NodeSeen.HostLabel)
      .withOperator("NotIn")
      .withValues(hosts.toVector.sorted.asJava)
      .build()
    val required = NodeSelectorBuilder()
      .withNodeSelectorTerms(NodeSelectorTermBuilder().withMatchExpressions(label).build())
      .build()
    AffinityBuilder()
      .withNodeAffinity(
        NodeAffinityBuilder().withRequiredDuringSchedulingIgnoredDuringExecution(required).build()
      )
      .build()
