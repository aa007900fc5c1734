package burst.controller.http

import burst.controller.http.connection.Connection
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.{extractRequest, mapResponse}
import org.slf4j.LoggerFactory

/** What the administrator has asked for, and what came of it: a line for each call in `audit.log`, which
  * holds nothing else. Of those whose key is wrong it says nothing: strangers could have what matters rolled
  * out of it.
  */
object AuditLog:
  private val log = LoggerFactory.getLogger("burst.audit")

  /** A path may be long, and is the caller's. */
  private val LongestPath = 512

  val directive: Directive0 = extractRequest.flatMap: request =>
    mapResponse: response =>
      log.info(line(request, response))
      response

  private[http] def line(request: HttpRequest, response: HttpResponse): String =
    // Rendered, what is no printable letter is escaped.
    val path = request.uri.toRelative.toString.take(LongestPath)
    val client = Connection.of(request).fold("-")(_.client)
    s"${request.method.value} $path ${response.status.intValue} client=$client id=${RequestId.of(request)}"
