package burst.controller.http

import burst.controller.scheduler.{CancelledBy, FlareService}
import burst.controller.store.{Blocking, FlareStore}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

/** `/admin/flares` and `/admin/groups`: lists and cancels those of all namespaces. Inputs and results stay
  * visible to their own namespace only.
  */
final class AdminFlaresRoutes(store: FlareStore, service: FlareService, blocking: Blocking)(using
    ExecutionContext
):
  val route: Route =
    concat(
      of(FlareKind.Flares, "limit", "skip", "namespace", "state"),
      of(FlareKind.Groups, "limit", "skip", "namespace")
    )

  private def of(kind: FlareKind, parameters: String*): Route =
    val answers = FlareAnswers(kind, store, service, blocking)
    concat(
      (pathPrefix(kind.path) & pathEndOrSingleSlash & get & QueryParameters.only(
        parameters*
      ) & extractRequest): request =>
        Answer(answers.list(None, request)),
      (pathPrefix(kind.path / Segment) & pathEndOrSingleSlash & delete & QueryParameters.only()): text =>
        answers.of(text)(id => Answer(answers.cancel(id, CancelledBy.Administrator)(answers.find(id))))
    )
