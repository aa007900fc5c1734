package burst.controller.http

import burst.controller.action.ActionName
import burst.controller.store.Identity
import org.apache.pekko.http.scaladsl.model.StatusCodes
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route

/** OpenWhisk's entities in a namespace, and the namespace's limits. */
final class EntitiesRoutes(actions: ActionsRoutes, packages: PackagesRoutes, limits: ActionLimits):
  /** The namespace need not be the caller's: each route decides what others may do. */
  def route(caller: Identity, namespace: String): Route =
    concat(
      actions.route(caller, namespace),
      packages.route(caller, namespace),
      (pathPrefix("limits") & pathEndOrSingleSlash & get):
        if namespace == ActionName.Own || namespace == caller.namespace then
          complete(JsonMarshalling.response(StatusCodes.OK, limits.of(caller.limits)))
        else Answer.refused(ApiError.OtherNamespace)
    )
