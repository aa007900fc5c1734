package burst.invoker.driver
package process

import java.nio.file.Path
import scala.concurrent.duration.FiniteDuration

/** `environment` names the variables of the platform's own environment that packs may see: all others stay
  * hidden from users' code.
  */
final case class ProcessSettings(
    runtimeBinary: Path,
    environment: Vector[String],
    program: ProgramMemory,
    startTimeout: FiniteDuration,
    stopGrace: FiniteDuration
)

object ProcessSettings:
  def read(settings: DriverSettings, runtimeBinary: Path): ProcessSettings = ProcessSettings(
    runtimeBinary = runtimeBinary,
    environment = settings.strings("environment"),
    program = ProgramMemory.read(settings),
    startTimeout = settings.duration("start-timeout"),
    stopGrace = settings.duration("stop-grace")
  )
