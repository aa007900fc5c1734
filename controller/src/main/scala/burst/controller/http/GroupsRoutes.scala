package burst.controller.http

import burst.controller.http.BodyIntake.Growing
import burst.controller.json.{Defaults, JsonPieces}
import burst.controller.definition.EntityName
import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.controller.scheduler.{CancelOutcome, FlareService}
import burst.controller.store.{Blocking, FlareStore, Identity}
import burst.protocol.{FlareId, Inputs}
import io.circe.Json
import org.apache.pekko.http.scaladsl.model.{HttpRequest, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** `/groups`: packs that outlive the flares that run on them, one after the other. */
final class GroupsRoutes(
    versions: Versions,
    flares: FlareStore,
    service: FlareService,
    flareCall: FlareCall,
    flareBody: FlareBody,
    pieces: JsonPieces,
    blocking: Blocking
)(using ExecutionContext):

  def route(caller: Identity): Route =
    concat(
      (pathPrefix("groups") & pathEndOrSingleSlash & extractRequest): request =>
        concat(
          (get & QueryParameters.only("limit", "skip", "name"))(Answer(list(caller, request))),
          (post & QueryParameters.only())(Answer(open(caller, request)))
        ),
      (pathPrefix("groups" / Segment) & pathEndOrSingleSlash): text =>
        FlareId.parse(text) match
          case None => Answer.refused(ApiError.InvalidGroupId)
          case Some(id) =>
            concat(
              (get & QueryParameters.only())(Answer(show(caller, id))),
              (post & QueryParameters.only("blocking", "result") & extractRequest): request =>
                Answer(flare(caller, id, request)),
              (delete & QueryParameters.only())(Answer(close(caller, id)))
            )
    )

  private def open(caller: Identity, request: HttpRequest): Answer =
    val opened = flareCall.submit(caller, request): body =>
      val fields = Fields.of(body.fields)
      for
        name <- fields.requiredString("definition")
        _ <- Either.cond(EntityName.isPath(name), (), ApiError.InvalidName)
        definition <- versions.wanted(caller.namespace, name, fields)
        wanted <- flareBody.readGroup(fields, definition, caller.limits)
      yield Growing.done(wanted)
    opened.map(_.map(id => JsonMarshalling.response(StatusCodes.Accepted, Views.acceptedGroup(id))))

  private def flare(caller: Identity, id: FlareId, request: HttpRequest): Answer =
    flareCall(caller, request)(member(caller, id, _))

  private def member(
      caller: Identity,
      id: FlareId,
      body: SplitBody
  ): Either[ApiError, Growing[FlareRequest]] =
    for
      group <- own(caller, id)
      // Forgotten with the group's end.
      below <- flares.inputs(id).toRight(ApiError.GroupEnded(id))
      wanted <- flareBody.readMember(body, group, membersOf(below), caller.limits)
    yield wanted

  private def membersOf(inputs: Inputs): Defaults = inputs match
    case Inputs.Shared(value) =>
      Defaults(pieces.members(value.bytes, Int.MaxValue).getOrElse(Vector.empty))
    case _ => Defaults(Vector.empty)

  private def list(caller: Identity, request: HttpRequest): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted =
      for
        page <- query.page()
        name <- query.definitionName("name")
      yield (page, name)
    Refusable(wanted): (page, name) =>
      blocking(flares.list(Some(caller.namespace), name, None, page.limit, page.skip, groups = true)).map:
        found =>
          JsonMarshalling.ok(Json.fromValues(found.map(Views.groupSummary)))

  private def show(caller: Identity, id: FlareId): Answer =
    Refusable(blocking(own(caller, id))): group =>
      val estimate =
        if group.state == FlareState.Queued then service.queueEstimate(id) else Future.successful(None)
      estimate.map(found => JsonMarshalling.ok(Views.group(group, found)))

  private def close(caller: Identity, id: FlareId): Answer =
    Refusable(blocking(own(caller, id))): _ =>
      service
        .cancel(id)
        .map:
          case CancelOutcome.Accepted =>
            Right(JsonMarshalling.response(StatusCodes.Accepted, Views.acceptedGroup(id)))
          case CancelOutcome.AlreadyEnded => Left(ApiError.GroupEnded(id))
          case CancelOutcome.NotFound => Left(ApiError.NoSuchGroup(id))

  /** A group of the caller's; another's is not there. */
  private def own(caller: Identity, id: FlareId): Either[ApiError, Flare] =
    flares
      .find(id)
      .filter(flare => flare.namespace == caller.namespace && flare.request.isGroup)
      .toRight(ApiError.NoSuchGroup(id))
