package burst.controller.http

import burst.controller.scheduler.FlareService
import io.circe.Json
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

/** `/invokers`: the cluster's machines, for anyone with credentials. */
final class InvokersRoutes(service: FlareService)(using ExecutionContext):
  val route: Route =
    (pathPrefix("invokers") & pathEndOrSingleSlash & get & QueryParameters.only()):
      Answer:
        service
          .invokers()
          .map: views =>
            val sorted = views.sortBy(_.status.id)
            JsonMarshalling.ok(Json.fromValues(sorted.map(Views.invoker)))
