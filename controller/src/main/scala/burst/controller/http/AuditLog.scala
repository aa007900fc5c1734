package burst.controller.http

import burst.controller.http.connection.Connection
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.{extractRequest, mapResponse}
import org.slf4j.LoggerFactory

/** The administrator's calls and their outcomes: one line per call in `audit.log`, which holds nothing else.
  * Calls with a wrong key are not logged: strangers could use them to rotate the lines that matter out of it.
  */
object AuditLog:
  private val log = LoggerFactory.getLogger("burst.audit")

  /** The most characters of a path that are logged: the caller chooses it. */
  private val LongestPath = 512

  val directive: Directive0 = extractRequest.flatMap: request =>
    mapResponse: response =>
      log.info(line(request, response))
      response

  private[http] def line(request: HttpRequest, response: HttpResponse): String =
    // Rendering escapes every character that is not printable.
    val path = request.uri.toRelative.toString.take(LongestPath)
    val client = Connection.of(request).fold("-")(_.client)
    s"${request.method.value} $path ${response.status.intValue} client=$client id=${RequestId.of(request)}"
