package burst.controller.http

import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route

/** `/admin`: what the administrator may do. */
final class AdminRoutes(
    namespaces: NamespacesRoutes,
    flares: AdminFlaresRoutes,
    invokers: AdminInvokersRoutes
):
  val route: Route = concat(namespaces.route, flares.route, invokers.route)
