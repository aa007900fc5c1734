package burst.invoker.driver
package kubernetes

import burst.protocol.WantedPacks
import io.fabric8.kubernetes.api.model.*
import scala.jdk.CollectionConverters.*
import scala.util.Try

/** What Kubernetes is asked for instead of a pack without room: a pure function. The pod requests what the
  * pack would, and fits none of the existing nodes; whatever adds nodes to the cluster sees that it fits on a
  * new one. If it were scheduled, it would end immediately.
  */
private[driver] object DemandPod:
  val Label = "burst.demand"

  /** The nodes that existed when it was made. */
  val Nodes = "burst.nodes"
  private val Workers = "burst.workers"
  private val Memory = "burst.memory"

  /** All pods of one kind are alike. */
  final case class Kind(workers: Int, memory: Int)

  def pod(
      settings: KubernetesSettings,
      owner: String,
      kind: Kind,
      hosts: Set[String],
      arch: String,
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
            // network policies for packs apply to it as well
            "app.kubernetes.io/name" -> "burst-pack",
            Label -> owner,
            Workers -> kind.workers.toString,
            Memory -> kind.memory.toString,
            Nodes -> mark(hosts)
          ).asJava)
          .withOwnerReferences(invoker.toList.asJava)
          .build()
      )
      .withSpec(PodSpecBuilder(spec).withAffinity(elsewhere(hosts, arch)).build())
      .build()

  def mark(hosts: Set[String]): String = f"${hosts.toVector.sorted.hashCode}%08x"

  def kind(pod: Pod): Option[Kind] =
    val labels = pod.getMetadata.getLabels
    Try(Kind(labels.get(Workers).toInt, labels.get(Memory).toInt)).toOption

  /** Whether it still represents demand: it has no node, is not being deleted, and was made for the current
    * nodes.
    */
  def waits(pod: Pod, hosts: Set[String]): Boolean =
    Option(pod.getSpec.getNodeName).forall(_.isEmpty) && pod.getMetadata.getDeletionTimestamp == null &&
      pod.getMetadata.getLabels.get(Nodes) == mark(hosts)

  /** The pods to make, at most `most` in total. */
  def kinds(packs: Vector[WantedPacks], most: Int): Map[Kind, Int] =
    packs.foldLeft((most, Map.empty[Kind, Int])) { case ((remaining, all), pack) =>
      val kind = Kind(pack.workers, pack.memory)
      val count = pack.count.min(remaining)
      (remaining - count, if count > 0 then all.updated(kind, all.getOrElse(kind, 0) + count) else all)
    }._2

  /** On a node that packs could use, but none of these. */
  private def elsewhere(hosts: Set[String], arch: String): Affinity =
    import PackPod.rule
    val fits = List(
      rule(NodeInfo.OsLabel, "In", Seq("linux")),
      rule(NodeInfo.ArchLabel, "In", Seq(NodeInfo.goArch(arch)))
    )
    val rules = fits ++ Option.when(hosts.nonEmpty)(rule(NodeInfo.HostLabel, "NotIn", hosts))
    PackPod.affinity(NodeSelectorTermBuilder().withMatchExpressions(rules.asJava).build())
