package burst.invoker.metrics

import burst.node.SetupException
import burst.node.metrics.MetricsRegistry
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.http.scaladsl.Http
import org.apache.pekko.http.scaladsl.Http.ServerBinding
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.model.Uri.Path
import org.apache.pekko.http.scaladsl.model.headers.Allow
import org.apache.pekko.http.scaladsl.settings.ServerSettings
import org.slf4j.LoggerFactory
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** The address of an invoker's metrics; port 0 is any free port. */
final case class MetricsAddress(host: String, port: Int)

/** Serves `GET /metrics` of an invoker, and nothing else. It ends with the actor system. */
private[invoker] object MetricsServer:
  private val log = LoggerFactory.getLogger("burst.invoker.metrics.MetricsServer")

  /** There are one or two scrapers. */
  private val MostConnections = 64

  private val Target = Path("/metrics")
  private val Text =
    ContentType.parse(MetricsRegistry.ContentType).getOrElse(ContentTypes.`text/plain(UTF-8)`)

  /** Fails with `SetupException` if it cannot listen. */
  def bind(address: MetricsAddress, metrics: MetricsRegistry)(using
      system: ActorSystem[?]
  ): Future[ServerBinding] =
    given ExecutionContext = system.executionContext
    val settings = ServerSettings(system).withMaxConnections(MostConnections).withServerHeader(None)
    Http()
      .newServerAt(address.host, address.port)
      .withSettings(settings)
      .bindSync(answer(metrics, _))
      .map: binding =>
        val at = binding.localAddress
        log.info("metrics are at http://{}:{}/metrics", at.getHostString, at.getPort)
        binding
      .recoverWith { case NonFatal(problem) =>
        val where = s"burst.invoker.metrics: ${address.host}:${address.port}"
        Future.failed(SetupException(s"$where cannot be listened on: ${problem.getMessage}"))
      }

  private def answer(metrics: MetricsRegistry, request: HttpRequest): HttpResponse =
    val reads = request.method == HttpMethods.GET || request.method == HttpMethods.HEAD
    if request.uri.path != Target then HttpResponse(StatusCodes.NotFound)
    else if !reads then
      HttpResponse(StatusCodes.MethodNotAllowed, headers = Seq(Allow(HttpMethods.GET, HttpMethods.HEAD)))
    else HttpResponse(entity = HttpEntity(Text, metrics.text()))
