package burst.node

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

/** What a process of the platform is to the others. */
enum Role:
  /** Controller and invoker in one JVM: no other node, no port for any. */
  case Standalone

  /** A member of the cluster of controllers. */
  case Controller

  /** Talks to controllers, is no member of their cluster. */
  case Invoker

/** The whole configuration, in this order: system properties, the operator's file (`-Dconfig.file`, which the
  * `burst` command writes), `cluster.conf` in a cluster, `node.conf`, and every module's `reference.conf`.
  */
final case class Settings(config: Config):
  def data: Path = Path.of(config.getString("burst.data")).toAbsolutePath
  def stopTimeout: FiniteDuration = config.getDuration("burst.stop-timeout").toMillis.millis

object Settings:
  def load(
      application: Config = ConfigFactory.defaultApplication(),
      role: Role = Role.Standalone
  ): Settings =
    val node = ConfigFactory.parseResources("node.conf")
    val layers = role match
      case Role.Standalone => application.withFallback(node)
      case _ => application.withFallback(ConfigFactory.parseResources("cluster.conf")).withFallback(node)
    val config = withBackends(ConfigFactory.load(layers))
    Settings(ClusterSettings.from(config).applyTo(config, role))

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
