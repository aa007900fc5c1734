package burst.invoker.driver
package kubernetes

import burst.node.SetupException
import burst.protocol.RuntimeInfo
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** Which of a cluster's nodes belong to an invoker: it is the one with this `index`, from 0 on, out of `of`
  * invokers.
  */
final case class NodeShare(index: Int, of: Int)

object NodeShare:
  def parse(text: String): Either[UnreadableSetting, NodeShare] =
    val read = text match
      case s"$index/$of" =>
        for index <- index.toIntOption; of <- of.toIntOption if index >= 0 && index < of
        yield NodeShare(index, of)
      case _ => None
    read.toRight(UnreadableSetting(text, "no share", "give 0/2 to the first of two invokers"))

/** The keys of `burst.invoker.kubernetes`, explained in `reference.conf`. Memory and disk in MiB. */
final case class KubernetesSettings(
    namespace: Option[String],
    pod: Option[String],
    image: String,
    runtime: Option[RuntimeInfo],
    cpuFactor: Double,
    memoryOverhead: Int,
    scratchSize: Int,
    users: UserRange,
    group: Long,
    callTimeout: FiniteDuration,
    startTimeout: FiniteDuration,
    stopTimeout: FiniteDuration,
    parallelism: Int,
    followCluster: Boolean = false,
    share: NodeShare = NodeShare(0, 1),
    slotMemory: Int = 256,
    scheduleTimeout: FiniteDuration = 10.seconds,
    demandPods: Int = 0
)

object KubernetesSettings:
  def read(settings: DriverSettings): KubernetesSettings = KubernetesSettings(
    namespace = settings.optional("namespace"),
    pod = settings.optional("pod"),
    image = settings.string("image"),
    runtime = (settings.optional("arch"), settings.optional("glibc")) match
      case (Some(arch), Some(glibc)) => Some(RuntimeInfo(arch, glibc))
      case (None, None) => None
      case _ => throw SetupException("burst.invoker.kubernetes.arch and .glibc: give both, or none.")
    ,
    cpuFactor = settings.double("cpus-per-worker"),
    memoryOverhead = settings.int("memory-overhead"),
    scratchSize = settings.int("scratch-size"),
    users = settings.parsed("users", UserRange.parse(settings.string("users"))),
    group = settings.long("group"),
    callTimeout = settings.duration("call-timeout"),
    startTimeout = settings.duration("start-timeout"),
    stopTimeout = settings.duration("stop-timeout"),
    parallelism = settings.atLeastOne("parallelism"),
    followCluster = settings.boolean("follow-cluster"),
    share = settings.parsed("share", NodeShare.parse(settings.string("share"))),
    slotMemory = settings.int("slot-memory") match
      case memory if memory > 0 => memory
      case memory =>
        throw SetupException(s"burst.invoker.kubernetes.slot-memory is $memory: give at least 1.")
    ,
    scheduleTimeout = settings.duration("schedule-timeout"),
    demandPods = settings.int("demand-pods").max(0)
  )
