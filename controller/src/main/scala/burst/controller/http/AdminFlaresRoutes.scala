package burst.controller.http

import burst.controller.flare.Flare
import burst.controller.scheduler.{CancelOutcome, CancelledBy, FlareService}
import burst.controller.store.{Blocking, FlareStore}
import burst.protocol.FlareId
import io.circe.Json
import org.apache.pekko.http.scaladsl.model.{HttpRequest, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

/** `/admin/flares` and `/admin/groups`: those of all namespaces, and ending them. What they were given and
  * answered stays their namespace's.
  */
final class AdminFlaresRoutes(store: FlareStore, service: FlareService, blocking: Blocking)(using
    ExecutionContext
):
  import AdminFlaresRoutes.*

  val route: Route = concat(Kinds.map(of)*)

  private def of(kind: Kind): Route =
    concat(
      (pathPrefix(kind.path) & pathEndOrSingleSlash & get & QueryParameters.only(
        kind.parameters*
      ) & extractRequest): request =>
        Answer(list(kind, request)),
      (pathPrefix(kind.path / Segment) & pathEndOrSingleSlash & delete & QueryParameters.only()): text =>
        FlareId.parse(text) match
          case None => Answer.refused(kind.invalid)
          case Some(id) => Answer(end(kind, id))
    )

  private def list(kind: Kind, request: HttpRequest): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted =
      for
        page <- query.page()
        namespace <- query.entityName("namespace")
        state <- if kind.groups then Right(None) else query.choice("state", FlaresRoutes.States)
      yield (page, namespace, state)
    Refusable(wanted): (page, namespace, state) =>
      blocking(store.list(namespace, None, state, page.limit, page.skip, kind.groups)).map: found =>
        JsonMarshalling.ok(Json.fromValues(found.map(kind.view)))

  private def end(kind: Kind, id: FlareId): Answer =
    val known = blocking(store.find(id).filter(_.request.isGroup == kind.groups).toRight(kind.unknown(id)))
    Refusable(known): _ =>
      service
        .cancel(id, CancelledBy.Administrator)
        .map:
          case CancelOutcome.Accepted =>
            Right(JsonMarshalling.response(StatusCodes.Accepted, kind.accepted(id)))
          case CancelOutcome.AlreadyEnded => Left(kind.ended(id))
          case CancelOutcome.NotFound => Left(kind.unknown(id))

object AdminFlaresRoutes:
  private final case class Kind(
      path: String,
      groups: Boolean,
      parameters: Seq[String],
      view: Flare => Json,
      accepted: FlareId => Json,
      invalid: ApiError,
      unknown: FlareId => ApiError,
      ended: FlareId => ApiError
  )

  private val Kinds = Vector(
    Kind(
      "flares",
      groups = false,
      Seq("limit", "skip", "namespace", "state"),
      Views.summary,
      Views.accepted,
      ApiError.InvalidFlareId,
      ApiError.NoSuchFlare(_),
      ApiError.FlareEnded(_)
    ),
    Kind(
      "groups",
      groups = true,
      Seq("limit", "skip", "namespace"),
      Views.groupSummary,
      Views.acceptedGroup,
      ApiError.InvalidGroupId,
      ApiError.NoSuchGroup(_),
      ApiError.GroupEnded(_)
    )
  )
