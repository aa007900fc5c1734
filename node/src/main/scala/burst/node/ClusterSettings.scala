package burst.node

import com.typesafe.config.{Config, ConfigFactory}
import java.nio.file.{Files, Path}
import scala.jdk.CollectionConverters.*

/** `burst.cluster`: how nodes find and trust each other; `reference.conf` explains each key. */
final case class ClusterSettings(host: String, port: Int, seeds: Vector[String], tls: Option[NodeKeys]):

  /** Where the controllers are that are looked for first, as addresses of actor systems. */
  def seedAddresses: Vector[String] = seeds.map(seed => s"pekko://${ClusterSettings.SystemName}@$seed")

  /** The part of Pekko's configuration that follows from these settings. A cluster nobody else is named of is
    * founded by its controller itself.
    */
  private[node] def applyTo(config: Config, role: Role): Config = role match
    case Role.Standalone => config
    case Role.Controller =>
      val known = if seeds.isEmpty then Vector(s"$host:$port") else seeds
      val addresses = known.map(seed => s"pekko://${ClusterSettings.SystemName}@$seed")
      transport(config, "cluster", Map("pekko.cluster.seed-nodes" -> addresses.asJava))
    case Role.Invoker =>
      if seeds.isEmpty then
        throw SetupException("an invoker must know a controller: give --seed HOST:PORT, once for each.")
      transport(config, "remote", Map.empty)

  private def transport(config: Config, provider: String, more: Map[String, Any]): Config =
    val artery = "pekko.remote.artery"
    val encrypted = tls.fold(Map.empty[String, Any]): keys =>
      Map(
        s"$artery.transport" -> "tls-tcp",
        s"$artery.ssl.ssl-engine-provider" ->
          "org.apache.pekko.remote.artery.tcp.ssl.RotatingKeysSSLEngineProvider",
        s"$artery.ssl.rotating-keys-engine.key-file" -> keys.key.toString,
        s"$artery.ssl.rotating-keys-engine.cert-file" -> keys.certificate.toString,
        s"$artery.ssl.rotating-keys-engine.ca-cert-file" -> keys.authority.toString
      )
    val values = Map("pekko.actor.provider" -> provider) ++ encrypted ++ more
    ConfigFactory.parseMap(values.asJava).withFallback(config)

/** A node's private key, its certificate, and that of the authority which signs all nodes' certificates. */
final case class NodeKeys(key: Path, certificate: Path, authority: Path)

object ClusterSettings:
  /** All actor systems of a cluster have the same name. */
  val SystemName = "burst"

  /** Throws `SetupException`. */
  def from(root: Config): ClusterSettings =
    val config = root.getConfig("burst.cluster")
    val seeds = config.getStringList("seeds").asScala.toVector
    seeds.filterNot(Seed.matches).foreach: seed =>
      throw SetupException(s"burst.cluster.seeds: '$seed' is not HOST:PORT.")
    ClusterSettings(config.getString("host"), config.getInt("port"), seeds, keys(config.getConfig("tls")))

  private val Seed = """(\[[0-9a-fA-F:.]+\]|[^:\s/@]+):\d{1,5}""".r

  private def keys(config: Config): Option[NodeKeys] =
    val named = Vector("key", "certificate", "authority").map(name => name -> config.getString(name))
    named.map(_._2) match
      case Vector("", "", "") => None
      case files =>
        named.foreach: (name, file) =>
          if file.isEmpty then
            throw SetupException(
              s"burst.cluster.tls.$name is missing: TLS between nodes needs key, certificate and authority."
            )
          if !Files.isReadable(Path.of(file)) then
            throw SetupException(s"burst.cluster.tls.$name: $file cannot be read.")
        val paths = files.map(Path.of(_).toAbsolutePath)
        Some(NodeKeys(paths(0), paths(1), paths(2)))
