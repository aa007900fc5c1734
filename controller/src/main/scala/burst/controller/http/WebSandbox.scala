package burst.controller.http

import burst.controller.web.FrontProxy
import org.apache.pekko.http.scaladsl.model.headers.RawHeader
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.*

/** Gives users' pages an origin of their own: at the API's host a header tells the browser to do so, or their
  * scripts could use any credentials that it keeps for the API. No header of an action can undo that: when
  * there are several policies, all apply.
  */
private[http] final class WebSandbox(domain: Option[String]):
  private val proxy = domain.map(FrontProxy(_))

  val directive: Directive0 = extractRequest.flatMap: request =>
    val authority = request.uri.authority.host.address
    val isOwn = proxy.exists(_.path(authority, request.uri.path).isDefined)
    if isOwn then pass else mapResponse(_.addHeader(WebSandbox.Header))

private[http] object WebSandbox:
  /** Pages of other hosts that they open are not sandboxed; those of this host carry this header themselves.
    */
  val Header: RawHeader = RawHeader(
    "Content-Security-Policy",
    "sandbox allow-scripts allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-downloads"
  )
