package burst.invoker.driver
package kubernetes

import burst.protocol.Secret
import io.fabric8.kubernetes.api.model.{Container as PodContainerSpec, Secret as KubernetesSecret, *}
import java.util.UUID
import scala.jdk.CollectionConverters.*

/** What a pack's pod can use, and is guaranteed: CPU in thousandths, memory in bytes. */
final case class PodLimits(cpuMillis: Long, memory: Long):
  /** Whether these limits are at least as high as the others in every respect. */
  def allows(others: PodLimits): Boolean = cpuMillis >= others.cpuMillis && memory >= others.memory

  /** As limits and as requests: what a pack can use is reserved, and nobody is evicted for another's need. */
  def resources: ResourceRequirements =
    val amounts = Map("cpu" -> Quantity(s"${cpuMillis}m"), "memory" -> Quantity(memory.toString)).asJava
    ResourceRequirementsBuilder().withRequests(amounts).withLimits(amounts).build()

private[driver] object PodLimits:
  def of(settings: KubernetesSettings, workers: Int, memoryMiB: Int): PodLimits =
    PodLimits(cpuMillis(settings, workers), (workers.toLong * memoryMiB + settings.memoryOverhead) << 20)

  def cpuMillis(settings: KubernetesSettings, workers: Int): Long =
    math.max((workers * settings.cpuFactor * 1000).toLong, 10)

  /** Reads limits in any notation. */
  def read(resources: ResourceRequirements): Option[PodLimits] =
    for
      limits <- Option(resources.getLimits)
      cpu <- Option(limits.get("cpu"))
      memory <- Option(limits.get("memory"))
    yield PodLimits(
      Quantity.getAmountInBytes(cpu).movePointRight(3).longValue,
      Quantity.getAmountInBytes(memory).longValue
    )

/** The objects requested from Kubernetes: pure functions.
  *
  * A pod is isolated like the containers of the Docker driver, including a user of its own, except for what a
  * pod cannot define: the number of its processes is the kubelet's setting (`podPidsLimit`), and files in
  * `/tmp` can be executed, which a package that is unpacked there needs. `/tmp` is on the node's disk, as a
  * volume in memory would be charged to the pod.
  *
  * The token is in a Secret of the pod's name, so that no description of the pod shows it; the Secret is only
  * needed until the runtime has begun.
  */
private[driver] object PackPod:
  val Port = 8080
  val OwnerLabel = "burst.owner"
  private val TokenKey = "token"
  private val Scratch = "scratch"

  /** The runtime ends its program by itself within this time. With a grace period of 0 Kubernetes would
    * forget the pod while it still runs.
    */
  private val GraceSeconds = 1L

  /** The name of a new pod, practically unique. */
  def name(owner: String): String = s"burst-${owner.take(8)}-${UUID.randomUUID.toString.takeRight(12)}"

  def pod(
      settings: KubernetesSettings,
      name: String,
      owner: String,
      limits: PodLimits,
      user: Long,
      invoker: Option[OwnerReference],
      node: Option[String] = None
  ): Pod =
    PodBuilder()
      .withMetadata(metadata(name, owner, invoker))
      .withSpec(spec(settings, user, container(settings, name, limits), node))
      .build()

  /** The user that it runs as, if it is set. */
  def user(pod: Pod): Option[Long] =
    for
      context <- Option(pod.getSpec.getSecurityContext)
      user <- Option(context.getRunAsUser)
    yield user.longValue

  def secret(name: String, owner: String, token: Secret, invoker: Option[OwnerReference]): KubernetesSecret =
    SecretBuilder()
      .withMetadata(metadata(name, owner, invoker))
      .withImmutable(true)
      .withType("Opaque")
      .withStringData(Map(TokenKey -> token.hex).asJava)
      .build()

  private def metadata(name: String, owner: String, invoker: Option[OwnerReference]): ObjectMeta =
    ObjectMetaBuilder()
      .withName(name)
      .withLabels(Map("app.kubernetes.io/name" -> "burst-pack", OwnerLabel -> owner).asJava)
      .withOwnerReferences(invoker.toList.asJava)
      .build()

  /** On that node and no other, as for pods of a DaemonSet: Kubernetes still checks its room. */
  private def on(node: String): Affinity =
    affinity(NodeSelectorTermBuilder().withMatchFields(rule("metadata.name", "In", Seq(node))).build())

  private[kubernetes] def rule(key: String, operator: String, values: Iterable[String]) =
    NodeSelectorRequirement(key, operator, values.toVector.sorted.asJava)

  /** Restricts a pod to the nodes that match. */
  private[kubernetes] def affinity(term: NodeSelectorTerm): Affinity =
    val required = NodeSelector(List(term).asJava)
    val affinity = NodeAffinityBuilder().withRequiredDuringSchedulingIgnoredDuringExecution(required).build()
    AffinityBuilder().withNodeAffinity(affinity).build()

  private[kubernetes] def spec(
      settings: KubernetesSettings,
      user: Long,
      container: PodContainerSpec,
      node: Option[String]
  ): PodSpec =
    PodSpecBuilder()
      .withAffinity(node.map(on).orNull)
      .withRestartPolicy("Never")
      .withTerminationGracePeriodSeconds(GraceSeconds)
      .withAutomountServiceAccountToken(false)
      .withEnableServiceLinks(false)
      .withSecurityContext(
        PodSecurityContextBuilder()
          .withRunAsNonRoot(true)
          .withRunAsUser(user)
          .withRunAsGroup(settings.group)
          .withSeccompProfile(SeccompProfileBuilder().withType("RuntimeDefault").build())
          .build()
      )
      .withContainers(container)
      .withVolumes(
        VolumeBuilder()
          .withName(Scratch)
          .withEmptyDir(
            EmptyDirVolumeSourceBuilder().withSizeLimit(Quantity(s"${settings.scratchSize}Mi")).build()
          )
          .build()
      )
      .build()

  private[kubernetes] def container(
      settings: KubernetesSettings,
      name: String,
      limits: PodLimits
  ): PodContainerSpec =
    ContainerBuilder()
      .withName("runtime")
      .withImage(settings.image)
      .withImagePullPolicy("IfNotPresent")
      .withArgs(
        "serve",
        "--listen",
        s"0.0.0.0:$Port",
        "--keep-open",
        "--scratch",
        "/tmp",
        "--scratch",
        "/dev/shm"
      )
      .withEnv(
        EnvVarBuilder()
          .withName(RuntimeAddress.TokenVariable)
          .withValueFrom(
            EnvVarSourceBuilder().withSecretKeyRef(SecretKeySelector(TokenKey, name, false)).build()
          )
          .build()
      )
      .withPorts(ContainerPortBuilder().withContainerPort(Port).build())
      .withResources(limits.resources)
      .withSecurityContext(
        SecurityContextBuilder()
          .withAllowPrivilegeEscalation(false)
          .withReadOnlyRootFilesystem(true)
          .withCapabilities(CapabilitiesBuilder().withDrop("ALL").build())
          .build()
      )
      .withVolumeMounts(VolumeMountBuilder().withName(Scratch).withMountPath("/tmp").build())
      .build()
