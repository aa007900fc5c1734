package burst.controller.http

import org.apache.pekko.http.scaladsl.model.HttpMethods.*
import org.apache.pekko.http.scaladsl.model.headers.*
import org.apache.pekko.http.scaladsl.model.{HttpHeader, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.*

/** Pages of any origin may call the API, as they may OpenWhisk's: it knows nobody by what a browser sends of
  * itself, but by credentials that the page must have.
  */
object CrossOrigin:
  private val headers: Seq[HttpHeader] = Seq(
    `Access-Control-Allow-Origin`.*,
    `Access-Control-Allow-Headers`(
      "Authorization",
      "Origin",
      "X-Requested-With",
      "Content-Type",
      "Accept",
      "User-Agent"
    ),
    `Access-Control-Allow-Methods`(GET, DELETE, POST, PUT, HEAD)
  )

  private val asked = complete(HttpResponse())

  /** Says so with every answer, and to `OPTIONS`, for which nobody has credentials. */
  val allowed: Directive0 =
    mapResponse((response: HttpResponse) => response.mapHeaders(_ ++ headers)) &
      mapInnerRoute(inner => extractMethod(method => if method == OPTIONS then asked else inner))
