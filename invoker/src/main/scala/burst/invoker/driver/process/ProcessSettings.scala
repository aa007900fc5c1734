package burst.invoker.driver
package process

import java.nio.file.Path
import scala.concurrent.duration.FiniteDuration

/** `environment` names the variables of the platform's own environment that packs may see: all others stay
  * hidden from users' code. `memoryOverhead` and `memoryPerWorker` are the MiB that a pack's program may have
  * on top of its workers' memory.
  */
final case class ProcessSettings(
    runtimeBinary: Path,
    environment: Vector[String],
    memoryOverhead: Int,
    memoryPerWorker: Int,
    startTimeout: FiniteDuration,
    stopGrace: FiniteDuration
)

object ProcessSettings:
  def read(settings: DriverSettings, runtimeBinary: Path): ProcessSettings = ProcessSettings(
    runtimeBinary = runtimeBinary,
    environment = settings.strings("environment"),
    memoryOverhead = settings.int("memory-overhead"),
    memoryPerWorker = settings.int("memory-per-worker"),
    startTimeout = settings.duration("start-timeout"),
    stopGrace = settings.duration("stop-grace")
  )
