package burst.node

import com.typesafe.config.{Config, ConfigFactory}
import java.nio.file.Path
import scala.jdk.CollectionConverters.*

/** `burst.cluster`: how nodes find and trust each other; `reference.conf` explains each key. */
final case class ClusterSettings(host: String, port: Int, seeds: Vector[String], proof: NodeProof):

  /** The controllers to contact first, as addresses of actor systems. */
  def seedAddresses: Vector[String] = seeds.map(seed => s"pekko://${ClusterSettings.SystemName}@$seed")

  /** The part of Pekko's configuration that follows from these settings. */
  private[node] def applyTo(config: Config, role: Role): Config = role match
    case Role.Standalone => config
    case Role.Controller =>
      checkFlares(config)
      transport(config, "cluster")
    case Role.Invoker =>
      if seeds.isEmpty then
        throw SetupException("an invoker must know a controller: give --seed HOST:PORT, once for each.")
      transport(config, "remote")

  /** Prepares the node's proof of membership; the data directory must be its own. Throws `SetupException`. */
  private[node] def prepare(role: Role): Unit = role match
    case Role.Standalone => ()
    case Role.Controller => proof.prepare(makes = seeds.headOption.forall(_ == s"$host:$port"))
    case Role.Invoker => proof.prepare(makes = false)

  /** A flare's inputs go to the scheduler in one message, in base64, which also needs room for everything
    * else.
    */
  private def checkFlares(config: Config): Unit =
    val setting = "burst.http.flare-body-limit"
    val largest = config.getBytes("pekko.remote.artery.advanced.maximum-large-frame-size") / 16 * 11
    if config.hasPath(setting) && config.getBytes(setting) > largest then
      throw SetupException(
        s"$setting (${config.getString(setting)}) must not be more than ${largest >> 20} MiB in a cluster: " +
          "a controller passes a request on to the scheduler in one message."
      )

  private def transport(config: Config, provider: String): Config =
    val values = Map("pekko.actor.provider" -> provider) ++ proof.transport
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
      proof(config, Path.of(root.getString("burst.data")).toAbsolutePath)
    )

  private def proof(config: Config, data: Path): NodeProof =
    (NodeKeys.from(config.getConfig("tls")), config.getString("key")) match
      case (None, "") => ClusterKey(data.resolve(ClusterKey.FileName), isDefault = true)
      case (None, file) => ClusterKey(Path.of(file).toAbsolutePath, isDefault = false)
      case (Some(keys), "") => keys
      case _ =>
        throw SetupException(
          "burst.cluster.key and burst.cluster.tls are two ways for nodes to prove themselves: give one of them."
        )

  private val Seed = """(\[[0-9a-fA-F:.]+\]|[^:\s/@]+):\d{1,5}""".r
