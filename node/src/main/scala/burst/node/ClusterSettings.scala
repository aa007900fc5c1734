package burst.node

import com.typesafe.config.{Config, ConfigFactory}
import scala.jdk.CollectionConverters.*

/** `burst.cluster`: how nodes find and trust each other; `reference.conf` explains each key. */
final case class ClusterSettings(host: String, port: Int, seeds: Vector[String], tls: Option[NodeKeys]):

  /** Where the controllers are that are looked for first, as addresses of actor systems. */
  def seedAddresses: Vector[String] = seeds.map(seed => s"pekko://${ClusterSettings.SystemName}@$seed")

  /** The part of Pekko's configuration that follows from these settings. */
  private[node] def applyTo(config: Config, role: Role): Config = role match
    case Role.Standalone => config
    case Role.Controller => transport(config, "cluster")
    case Role.Invoker =>
      if seeds.isEmpty then
        throw SetupException("an invoker must know a controller: give --seed HOST:PORT, once for each.")
      transport(config, "remote")

  private def transport(config: Config, provider: String): Config =
    val values = Map("pekko.actor.provider" -> provider) ++ tls.fold(Map.empty)(_.transport)
    ConfigFactory.parseMap(values.asJava).withFallback(config)

object ClusterSettings:
  /** All actor systems of a cluster have the same name. */
  val SystemName = "burst"

  /** Throws `SetupException`. */
  def from(root: Config): ClusterSettings =
    val config = root.getConfig("burst.cluster")
    val seeds = config.getStringList("seeds").asScala.toVector
    seeds.filterNot(Seed.matches).foreach: seed =>
      throw SetupException(s"burst.cluster.seeds: '$seed' is not HOST:PORT.")
    ClusterSettings(
      config.getString("host"),
      config.getInt("port"),
      seeds,
      NodeKeys.from(config.getConfig("tls"))
    )

  private val Seed = """(\[[0-9a-fA-F:.]+\]|[^:\s/@]+):\d{1,5}""".r
