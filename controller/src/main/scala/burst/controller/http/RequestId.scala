package burst.controller.http

import java.util.HexFormat
import java.util.concurrent.ThreadLocalRandom
import org.apache.pekko.http.scaladsl.model.headers.RawHeader
import org.apache.pekko.http.scaladsl.model.{AttributeKey, HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directives.mapInnerRoute
import org.apache.pekko.http.scaladsl.server.{Directive0, RouteResult}
import org.apache.pekko.stream.Materializer
import scala.concurrent.{ExecutionContext, Future}

/** The id of each request, by which the log can be searched for more than the answer discloses: it is an
  * error's `code` and every answer's `X-Request-Id`. As with OpenWhisk, it is the client's own if the client
  * sends one that is plain and not reserved by OpenWhisk.
  */
object RequestId:
  val Header = "X-Request-Id"
  private val Key = AttributeKey[String]("burst-request-id")
  private val Plain = "(?!sid_)[A-Za-z0-9_.-]{1,64}".r

  /** Returns a fresh id. It need not be hard to guess. */
  def fresh(): String =
    val random = ThreadLocalRandom.current
    val digits = HexFormat.of()
    digits.toHexDigits(random.nextLong()) + digits.toHexDigits(random.nextLong())

  def of(request: HttpRequest): String = request.attribute(Key).getOrElse("")

  /** Gives the request its id, and drains the body of a refused one within `drain`. */
  def directive(drain: BodyTimes)(using Materializer): Directive0 =
    given ExecutionContext = ExecutionContext.parasitic
    mapInnerRoute: inner =>
      context =>
        val id = own(context.request).getOrElse(fresh())
        val request = context.request.addAttribute(Key, id)
        inner(context.withRequest(request)).flatMap:
          case RouteResult.Complete(response) =>
            val answer = RouteResult.Complete(stamped(response, id))
            if response.status.isFailure then RequestBody.discard(request, drain).map(_ => answer)
            else Future.successful(answer)
          case rejected => Future.successful(rejected)

  private def own(request: HttpRequest): Option[String] =
    request.headers.collectFirst:
      case header if header.is(Header.toLowerCase) && Plain.matches(header.value) => header.value

  def stamped(response: HttpResponse, id: String): HttpResponse =
    response.addHeader(RawHeader(Header, id))
