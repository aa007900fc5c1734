package burst.controller.http

import org.apache.pekko.http.scaladsl.model.HttpMethods.*
import org.apache.pekko.http.scaladsl.model.headers.*
import org.apache.pekko.http.scaladsl.model.{HttpHeader, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.*

/** Lets pages of any origin call the API, as OpenWhisk does: callers are identified by credentials that the
  * page itself must have, never by what a browser sends on its own.
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

  /** Adds the headers to every response, and answers `OPTIONS`, which carries no credentials. */
  val allowed: Directive0 =
    mapResponse((response: HttpResponse) => response.mapHeaders(_ ++ headers)) &
      mapInnerRoute(inner => extractMethod(method => if method == OPTIONS then asked else inner))
