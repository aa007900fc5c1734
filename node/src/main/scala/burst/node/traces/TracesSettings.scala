package burst.node.traces

import burst.node.SetupException
import com.typesafe.config.Config
import java.net.{URI, URLDecoder}
import java.nio.charset.StandardCharsets.UTF_8
import scala.util.Try

/** `burst.traces`; `reference.conf` explains each key. `headers` may be credentials. */
final case class TracesSettings(
    endpoint: URI,
    headers: Vector[(String, String)],
    ratio: Double,
    queue: Int
):
  override def toString: String = s"TracesSettings($endpoint, ${headers.map(_(0))}, $ratio, $queue)"

object TracesSettings:
  private val MostQueued = 1_000_000

  /** Nothing if traces are off. Throws `SetupException` for settings that cannot be used. */
  def from(root: Config): Option[TracesSettings] =
    val config = root.getConfig("burst.traces")
    Option(config.getString("endpoint").trim).filter(_.nonEmpty).map: endpoint =>
      val ratio = config.getDouble("ratio")
      if !(ratio >= 0 && ratio <= 1) then
        throw SetupException(s"burst.traces.ratio is $ratio: give a number from 0 to 1.")
      val queue = config.getInt("queue")
      if queue < 1 || queue > MostQueued then
        throw SetupException(s"burst.traces.queue is $queue: give a number from 1 to $MostQueued.")
      TracesSettings(address(endpoint), headers(config.getString("headers")), ratio, queue)

  /** Interpreted like OTEL_EXPORTER_OTLP_ENDPOINT. */
  private def address(endpoint: String): URI =
    Try(URI(s"${endpoint.stripSuffix("/")}/v1/traces")).toOption
      .filter(uri => Set("http", "https")(uri.getScheme) && uri.getHost != null)
      .getOrElse(throw SetupException(
        s"burst.traces.endpoint is '$endpoint': give a collector's address, as in http://localhost:4318."
      ))

  /** Written like OTEL_EXPORTER_OTLP_HEADERS. */
  private def headers(text: String): Vector[(String, String)] =
    text.split(',').toVector.map(_.trim).filter(_.nonEmpty).map:
      case s"$name=$value" if name.trim.nonEmpty =>
        // Not shown: it may be a credential.
        name.trim -> Try(URLDecoder.decode(value.trim.replace("+", "%2B"), UTF_8))
          .getOrElse(throw SetupException(
            s"burst.traces.headers: the value of ${name.trim} has a % that is none."
          ))
      case _ => throw SetupException("burst.traces.headers must be name=value,name=value.")
