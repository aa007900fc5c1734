package burst.standalone

import com.typesafe.config.{
  Config,
  ConfigFactory,
  ConfigUtil,
  ConfigValue,
  ConfigValueFactory,
  ConfigValueType
}
import java.nio.file.Path
import scala.concurrent.duration.{DurationLong, FiniteDuration}
import scala.jdk.CollectionConverters.*

/** The whole configuration, in this order: system properties, the operator's file (`-Dconfig.file`, which
  * `burst standalone` writes), `standalone.conf`, and every module's `reference.conf`.
  */
final case class Settings(config: Config):
  def data: Path = Path.of(config.getString("burst.data")).toAbsolutePath
  def stopTimeout: FiniteDuration = config.getDuration("burst.stop-timeout").toMillis.millis

object Settings:
  def load(application: Config = ConfigFactory.defaultApplication()): Settings =
    val layers = application.withFallback(ConfigFactory.parseResources("standalone.conf"))
    Settings(withBackends(ConfigFactory.load(layers)))

  /** `burst.backends` in the form the scheduler reads: a bare address is of the kind it is named by. */
  private def withBackends(config: Config): Config =
    config
      .getObject("burst.backends")
      .asScala
      .foldLeft(config):
        case (config, (name, value)) =>
          val path = ConfigUtil.joinPath("burst", "scheduler", "backends", name)
          config.withValue(path, entry(name, value))

  private def entry(name: String, value: ConfigValue): ConfigValue =
    if value.valueType == ConfigValueType.OBJECT then value
    else ConfigValueFactory.fromMap(Map("kind" -> name, "uri" -> value.unwrapped).asJava)
