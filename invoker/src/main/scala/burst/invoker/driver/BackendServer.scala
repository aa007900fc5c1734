package burst.invoker.driver

import burst.protocol.BackendConfig
import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8

/** Where the server of a backend listens. */
private[driver] final case class BackendServer(host: String, port: Int):
  /** Whether somebody has to be asked for its address. */
  def isNamed: Boolean = !host.matches("[0-9.]+")

private[driver] object BackendServer:
  private val Address = """([a-z0-9+]+)://(?:[^/?#]*@)?([^:/?#\[\]]+)(?::(\d{1,5}))?(?:[/?#].*)?""".r
  private val Endpoint = """[?&]endpoint=([^&#]*)""".r.unanchored
  private val Ports =
    Map("redis" -> 6379, "rediss" -> 6379, "amqp" -> 5672, "amqps" -> 5671, "http" -> 80, "https" -> 443)

  /** Nothing where it has none, or one whose addresses change all the time, as Amazon's S3. */
  def of(backend: BackendConfig): Option[BackendServer] =
    backend.uri.flatMap:
      case Endpoint(endpoint) if backend.kind == "s3" => read(URLDecoder.decode(endpoint, UTF_8))
      case _ if backend.kind == "s3" => None
      case uri => read(uri)

  private def read(uri: String): Option[BackendServer] = uri match
    case Address(scheme, host, port) =>
      Option(port).map(_.toInt).orElse(Ports.get(scheme)).map(BackendServer(host, _))
    case _ => None
