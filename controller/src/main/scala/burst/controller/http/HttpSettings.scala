package burst.controller.http

import burst.controller.definition.Packing
import com.typesafe.config.{Config, ConfigException}
import javax.net.ssl.SSLContext
import org.apache.pekko.http.scaladsl.settings.ServerSettings
import scala.concurrent.duration.FiniteDuration
import scala.jdk.DurationConverters.*

/** `burst.http` of the configuration. */
final case class HttpSettings(
    host: String,
    port: Int,
    blockingLimit: FiniteDuration,
    deployBodyLimit: Long,
    deployBodiesLimit: Long,
    flareBodyLimit: Long,
    flareBodiesLimit: Long,
    bodyTimeout: FiniteDuration,
    jsonDepthLimit: Int,
    adminKey: Option[AdminKey],
    tls: Option[SSLContext],
    server: ServerSettings
):
  def scheme: String = if tls.isDefined then "https" else "http"

object HttpSettings:
  def from(config: Config): HttpSettings =
    val http = config.getConfig("burst.http")
    HttpSettings(
      http.getString("host"),
      http.getInt("port"),
      http.getDuration("blocking-limit").toScala,
      http.getBytes("deploy-body-limit"),
      http.getBytes("deploy-bodies-limit"),
      http.getBytes("flare-body-limit"),
      share(http, "flare-bodies-limit"),
      http.getDuration("body-timeout").toScala,
      http.getInt("json-depth-limit"),
      AdminKey.from(config.getString(AdminKey.Setting)),
      Tls.from(http.getConfig("tls")),
      ServerSettings(http.getConfig("server").atPath("pekko.http.server").withFallback(config))
    )

  /** At most this part of the heap, however it is set. */
  private val HeapShare = 16

  private def share(config: Config, key: String): Long =
    Math.max(
      Math.min(config.getBytes(key), Runtime.getRuntime.maxMemory / HeapShare),
      config.getBytes("flare-body-limit")
    )

/** `burst.flare-defaults`: what a flare gets when neither it nor its definition says otherwise. `backends`
  * are the names the operator configured, known once the scheduler's side is.
  */
final case class FlareDefaults(
    packing: Packing,
    timeout: Long,
    memory: Int,
    retries: Int,
    groupIdleTimeout: Long,
    backend: String = "",
    backends: Vector[String] = Vector.empty
)

object FlareDefaults:
  def from(config: Config): FlareDefaults =
    val defaults = config.getConfig("burst.flare-defaults")
    val packing = defaults.getString("packing")
    FlareDefaults(
      OptionsReader.Packings
        .collectFirst { case (`packing`, value) => value }
        .getOrElse(throw ConfigException.BadValue(
          "burst.flare-defaults.packing",
          "there is no such packing"
        )),
      defaults.getDuration("timeout").toMillis,
      defaults.getInt("memory"),
      defaults.getInt("retries"),
      defaults.getDuration("group-idle-timeout").toMillis
    )
