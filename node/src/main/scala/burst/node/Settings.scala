package burst.node

import com.typesafe.config.{Config, ConfigFactory, ConfigUtil, ConfigValue}
import java.nio.file.Path
import scala.concurrent.duration.{DurationLong, FiniteDuration}
import scala.jdk.CollectionConverters.*

/** The role of a process of the platform. */
enum Role:
  /** Controller and invoker in one JVM: no other nodes, no port for any. */
  case Standalone

  /** A member of the cluster of controllers. */
  case Controller

  /** Talks to controllers, but is not a member of their cluster. */
  case Invoker

/** The whole configuration, in this order: system properties, the operator's file (`-Dconfig.file`, which the
  * `burst` command writes), `cluster.conf` in a cluster, `node.conf`, and every module's `reference.conf`.
  */
final case class Settings(config: Config):
  def data: Path = Path.of(config.getString("burst.data")).toAbsolutePath
  def drainTimeout: FiniteDuration = config.getDuration("burst.drain-timeout").toMillis.millis

  /** Throws `SetupException` if there is no such format. */
  def logFormat: String = config.getString("burst.log-format") match
    case known @ ("text" | "json") => known
    case other => throw SetupException(s"burst.log-format is '$other': give \"text\" or \"json\".")
  def stopTimeout: FiniteDuration = config.getDuration("burst.stop-timeout").toMillis.millis

object Settings:
  private val InOneJvm = ConfigFactory.parseResources("node.conf")
  private val InCluster = ConfigFactory.parseResources("cluster.conf")

  /** Throws `SetupException` for settings of the operator that do not exist. */
  def load(
      application: Config = ConfigFactory.defaultApplication(),
      role: Role = Role.Standalone
  ): Settings =
    val own = role match
      case Role.Standalone => InOneJvm
      case _ => InCluster.withFallback(InOneJvm)
    val loaded = ConfigFactory.load(application.withFallback(own))
    val set = ConfigFactory.systemProperties.withFallback(application).resolveWith(loaded)
    SettingsCheck(known).check(set)
    SettingsCheck.contradictions(loaded)
    val config = withBackends(loaded)
    Settings(ClusterSettings.from(config).applyTo(config, role))

  /** The settings as they are if nobody has set anything. */
  private def known: Config =
    val properties = ConfigFactory.systemProperties.withoutPath("burst")
    InCluster
      .withFallback(InOneJvm)
      .withFallback(ConfigFactory.defaultReferenceUnresolved)
      .withFallback(properties)
      .resolve()

  /** The configuration with the backends that the operator names, in the current or the former section, each
    * with its kind. A bare address is of the kind it is named by.
    */
  private def withBackends(config: Config): Config =
    lazy val kinds = RuntimeBinary(RuntimeBinary.find(config)).backends()
    def named(section: String*): Map[String, ConfigValue] =
      val path = ConfigUtil.joinPath(section*)
      if !config.hasPath(path) then Map.empty
      else
        config.getObject(path).asScala.toMap.map: (name, value) =>
          name -> BackendEntry.of(ConfigUtil.joinPath((section :+ name)*), name, value, kinds)
    val before = named("burst", "scheduler", "backends")
    (before ++ named("burst", "backends")).foldLeft(config):
      case (config, (name, entry)) =>
        config.withValue(ConfigUtil.joinPath("burst", "backends", name), entry)
