package burst.controller.http

import burst.controller.definition.{FlareOptions, FlareTerms}
import burst.controller.http.connection.ConnectionLimits
import burst.controller.placement.Packing
import burst.node.SetupException
import com.typesafe.config.Config
import javax.net.ssl.SSLContext
import org.apache.pekko.http.scaladsl.model.{MediaType, MediaTypes}
import org.apache.pekko.http.scaladsl.settings.ServerSettings
import scala.concurrent.duration.{DurationInt, DurationLong, FiniteDuration}
import scala.jdk.DurationConverters.*

/** `burst.http` of the configuration. */
final case class HttpSettings(
    host: String,
    port: Int,
    blockingLimit: FiniteDuration,
    deployBodies: BodyIntake.Settings,
    flareBodies: BodyIntake.Settings,
    web: WebSettings,
    bodyTimes: BodyTimes,
    json: JsonLimits,
    failedLoginsPerMinute: Int,
    adminKey: Option[AdminKey],
    tls: Option[SSLContext],
    redirectPort: Option[Int],
    connections: ConnectionLimits,
    logLimit: Long,
    componentPatience: FiniteDuration,
    ready: Readiness.Settings,
    server: ServerSettings
):
  def scheme: String = if tls.isDefined then "https" else "http"

object HttpSettings:
  val LargeBodyDispatcher = "burst.http.large-body-dispatcher"
  val DeployDispatcher = "burst.http.deploy-dispatcher"
  val WebDispatcher = "burst.http.web-dispatcher"

  /** Makes Pekko HTTP accept JSON with a declared charset: it ignores one unless the media type allows any.
    */
  private def withCharsets(server: ServerSettings): ServerSettings =
    val json = MediaTypes.`application/json`
    server.withParserSettings(
      server.parserSettings.withCustomMediaTypes(MediaType.customWithOpenCharset(json.mainType, json.subType))
    )

  /** Reads the settings. Throws `SetupException`. */
  def from(config: Config): HttpSettings =
    val http = config.getConfig("burst.http")
    HttpSettings(
      http.getString("host"),
      http.getInt("port"),
      http.getDuration("blocking-limit").toScala,
      bodies(http, "deploy", DeployHeapShare),
      bodies(http, "flare", FlareHeapShare),
      WebSettings.from(http.getConfig("web"), bodies(http, "web", WebHeapShare)),
      BodyTimes(
        http.getDuration("body-timeout").toScala,
        http.getBytes("body-pace.bytes"),
        http.getDuration("body-pace.within").toScala
      ),
      JsonLimits(
        depth = http.getInt("json-depth-limit"),
        values = http.getInt("json-values-limit"),
        number = http.getInt("json-number-limit")
      ),
      http.getInt("failed-logins-per-minute"),
      AdminKey.from(config.getString(AdminKey.Setting)),
      Tls.from(http.getConfig("tls")),
      Some(http.getInt("tls.redirect-port")).filter(_ > 0),
      ConnectionLimits.from(config),
      config.getBytes("burst.store.log-limit"),
      patience(config),
      Readiness.Settings.from(http.getConfig("ready")),
      withCharsets(server(http.getConfig("server"), config))
    )

  /** Reads Pekko HTTP's own settings, of which the operator may set any. */
  private def server(own: Config, config: Config): ServerSettings =
    try ServerSettings(own.atPath("pekko.http.server").withFallback(config))
    catch
      case refused: IllegalArgumentException =>
        throw SetupException(s"burst.http.server cannot be used: ${refused.getMessage}.", refused)

  /** Returns how long a flare may take beyond its timeout: until it has its slots, until its packs are up,
    * and until they have ended.
    */
  private def patience(config: Config): FiniteDuration =
    val scheduler = config.getConfig("burst.scheduler")
    Seq("queue-deadline", "start-deadline", "abort-deadline", "cleanup-deadline")
      .map(scheduler.getDuration(_).toScala)
      .reduce(_ + _) + Delays

  /** An allowance for the database. */
  private val Delays = 60.seconds

  // Caps on the share of the heap, whatever is configured: a deploy's body is held twice while it is taken
  // in, and one of a tar up to four times, a flare's up to four times, a web action's as arguments up to
  // five.
  private val DeployHeapShare = 8
  private val FlareHeapShare = 16
  private val WebHeapShare = 32

  private def bodies(http: Config, call: String, heapShare: Int): BodyIntake.Settings =
    BodyIntake.Settings(
      bodyLimit = http.getBytes(s"$call-body-limit"),
      limit = Math.min(http.getBytes(s"$call-bodies-limit"), Runtime.getRuntime.maxMemory / heapShare),
      rate = http.getBytes(s"$call-bodies-rate"),
      burst = http.getBytes(s"$call-bodies-burst")
    ).fitting

/** `burst.flare-defaults`: the terms of a flare where neither it nor its definition sets them. The backend,
  * and `backends`, the names of all that the operator configured, are known only once the scheduler has
  * started.
  */
final case class FlareDefaults(
    terms: FlareTerms,
    groupIdleTimeout: FiniteDuration,
    backends: Vector[String] = Vector.empty
):
  def withBackends(default: String, all: Vector[String]): FlareDefaults =
    copy(terms = terms.copy(backend = default), backends = all)

  /** Returns a definition's options completed by these defaults, except those that are chosen separately for
    * each flare.
    */
  def shown(options: FlareOptions): FlareOptions = options.orElse(
    FlareOptions(timeout = Some(terms.timeout), memory = Some(terms.memory), retries = Some(terms.retries))
  )

object FlareDefaults:
  /** Reads the defaults. Throws `SetupException`. */
  def from(config: Config): FlareDefaults =
    val defaults = config.getConfig("burst.flare-defaults")
    val packing = defaults.getString("packing")
    val terms = FlareTerms(
      packing = Packing.named
        .collectFirst { case (`packing`, value) => value }
        .getOrElse(throw SetupException(
          s"burst.flare-defaults.packing is '$packing': give ${Packing.named.map(_._1).mkString(", ")}."
        )),
      backend = "",
      timeout = defaults.getDuration("timeout").toMillis.millis,
      memory = defaults.getInt("memory"),
      retries = defaults.getInt("retries")
    )
    FlareDefaults(terms, defaults.getDuration("group-idle-timeout").toMillis.millis)
