package burst.invoker.driver
package kubernetes

import burst.node.SetupException
import burst.protocol.RuntimeInfo
import scala.concurrent.duration.FiniteDuration

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
    parallelism: Int
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
    parallelism = settings.int("parallelism")
  )
