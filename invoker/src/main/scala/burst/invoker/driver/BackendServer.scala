package burst.invoker.driver

import burst.protocol.BackendConfig
import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import scala.util.matching.Regex

/** Where the server of a backend listens. */
private[driver] final case class BackendServer(host: String, port: Int):
  /** Whether somebody has to be asked for its address. */
  def isNamed: Boolean = !host.matches("[0-9.]+")

private[driver] object BackendServer:
  private val Address = """([a-z0-9+]+)://(?:[^/?#]*@)?([^:/?#\[\]]+)(?::(\d{1,5}))?(?:[/?#].*)?""".r
  private val Endpoint = """[?&]endpoint=([^&#]*)""".r
  private val Management = """[?&]management=([^&#]*)""".r
  private val ManagementPort = 15672
  private val ManagementTlsPort = 15671
  private val Ports =
    Map("redis" -> 6379, "rediss" -> 6379, "amqp" -> 5672, "amqps" -> 5671, "http" -> 80, "https" -> 443)

  /** None where it has none, or one whose addresses change all the time, as Amazon's S3. RabbitMQ's
    * management API, through which a pack's runtime has a user made, has a port of its own.
    */
  def of(backend: BackendConfig): Vector[BackendServer] = backend.uri match
    case Some(uri) if backend.kind == "s3" => option(Endpoint, uri).flatMap(read).toVector
    case Some(uri) if backend.kind == "rabbitmq" && !backend.sharedCredentials =>
      read(uri).toVector ++ option(Management, uri).fold(managementOf(uri))(read)
    case uri => uri.flatMap(read).toVector

  private def option(name: Regex, uri: String): Option[String] =
    name.findFirstMatchIn(uri).map(found => URLDecoder.decode(found.group(1), UTF_8))

  /** Where it is unless the address says otherwise. */
  private def managementOf(uri: String): Option[BackendServer] =
    read(uri).map(_.copy(port = if uri.startsWith("amqps:") then ManagementTlsPort else ManagementPort))

  private def read(uri: String): Option[BackendServer] = uri match
    case Address(scheme, host, port) =>
      Option(port).map(_.toInt).orElse(Ports.get(scheme)).map(BackendServer(host, _))
    case _ => None
