package burst.controller.http

import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route

/** What strangers may call: web actions, and the API gateway; and the calls by which its APIs are made. */
final class WebRoutes(management: ApiManagementRoutes, actions: WebActionsRoutes, gateway: GatewayRoutes):
  val route: Route =
    concat(pathPrefix("api" / "v1")(concat(management.route, actions.route)), gateway.route)
