package burst.controller.http

import burst.controller.web.{WebPath, WebProblem}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route

/** `/web/{namespace}/{package}/{action}`: actions that their owners let anyone call. */
final class WebActionsRoutes(call: WebCall):
  val route: Route =
    pathPrefix("web"):
      (extractMethod & extractUnmatchedPath): (method, path) =>
        WebPath.of(path) match
          case _ if !WebCrossOrigin.Methods.contains(method) =>
            refused(ApiError.MethodNotAllowed(WebCrossOrigin.Methods))
          case Some(found) => call(found)
          case None => refused(ApiError.Web(WebProblem.NoSuchAction))

  private def refused(error: ApiError): Route = WebCrossOrigin.directive(Answer.refused(error))
