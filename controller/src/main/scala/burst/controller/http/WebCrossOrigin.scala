package burst.controller.http

import org.apache.pekko.http.scaladsl.model.HttpMethods.*
import org.apache.pekko.http.scaladsl.model.headers.*
import org.apache.pekko.http.scaladsl.model.{HttpHeader, HttpMethod, HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.{extractRequest, mapResponse}

/** Lets pages of any origin call a web action, unless the action itself decides who may. */
private[http] object WebCrossOrigin:
  val Methods: Seq[HttpMethod] = Seq(OPTIONS, GET, DELETE, POST, PUT, HEAD, PATCH)

  /** Adds the headers to every response of a route, so that a page's script also sees why it is refused. */
  val directive: Directive0 = extractRequest.flatMap(request => mapResponse(allow(request, _)))

  def allow(request: HttpRequest, response: HttpResponse): HttpResponse =
    val said = response.headers.map(_.lowercaseName).toSet
    val asked =
      request.header[`Access-Control-Request-Headers`].fold(Seq("Authorization", "Content-Type"))(_.headers)
    val allowed: Seq[HttpHeader] = Seq(
      `Access-Control-Allow-Origin`.*,
      `Access-Control-Allow-Methods`(Methods),
      `Access-Control-Allow-Headers`(asked)
    )
    // A browser rejects a header that is present twice.
    response.mapHeaders(_ ++ allowed.filterNot(header => said(header.lowercaseName)))
