package burst.invoker.driver

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
