package burst.controller.http

import burst.controller.web.FrontProxy
import org.apache.pekko.http.scaladsl.model.headers.RawHeader
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.*

/** Pages of users' have an origin of their own: at the API's host the browser is told so, or their scripts
  * could do there whatever the credentials allow that it keeps for the API. What an action says itself cannot
  * take that back: of several policies all hold.
  */
private[http] final class WebSandbox(domain: Option[String]):
  private val proxy = domain.map(FrontProxy(_))

  val directive: Directive0 = extractRequest.flatMap: request =>
    val authority = request.uri.authority.host.address
    val isOwn = proxy.exists(_.path(authority, request.uri.path).isDefined)
    if isOwn then pass else mapResponse(_.addHeader(WebSandbox.Header))

private[http] object WebSandbox:
  /** What they open of others' is not shut in, and what they open here says so itself. */
  val Header: RawHeader = RawHeader(
    "Content-Security-Policy",
    "sandbox allow-scripts allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-downloads"
  )
