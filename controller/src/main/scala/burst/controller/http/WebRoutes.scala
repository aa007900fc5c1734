package burst.controller.http

import burst.controller.action.{Actions, Invocations}
import burst.controller.gateway.{Gateway, GatewayApis}
import burst.controller.store.{Blocking, Storage}
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

/** Calls that strangers may make: web actions and the API gateway; and the calls that manage the gateway's
  * APIs.
  */
final class WebRoutes(management: ApiManagementRoutes, actions: WebActionsRoutes, gateway: GatewayRoutes):
  val route: Route =
    concat(pathPrefix("api" / "v1")(concat(management.route, actions.route)), gateway.route)

object WebRoutes:
  def of(
      actions: Actions,
      invocations: Invocations,
      storage: Storage,
      authentication: Authentication,
      requestLimits: RequestLimits,
      deploys: Deploys,
      settings: HttpSettings,
      blocking: Blocking
  )(using system: ActorSystem[?]): WebRoutes =
    given ExecutionContext = system.executionContext
    val body = RequestBody(settings.bodyTimes, settings.json.copy(values = settings.web.jsonValues))
    val threads = system.dispatchers.lookup(DispatcherSelector.fromConfig(HttpSettings.WebDispatcher))
    def intake(bodies: BodyIntake.Settings) = BodyIntake(body, bodies, FairExecutor(threads), blocking)
    val call = WebCall(
      actions,
      invocations,
      storage.namespaces,
      authentication,
      intake(settings.web.bodies),
      body,
      settings.web,
      settings.blockingLimit,
      blocking
    )
    WebRoutes(
      ApiManagementRoutes(
        GatewayApis(storage.apis),
        authentication,
        requestLimits,
        deploys,
        intake(ApiManagementRoutes.Bodies),
        body,
        settings.web,
        blocking
      ),
      WebActionsRoutes(call),
      GatewayRoutes(Gateway(storage.apis), call, settings.web, blocking)
    )
