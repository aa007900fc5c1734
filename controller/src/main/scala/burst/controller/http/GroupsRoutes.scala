package burst.controller.http

import burst.controller.http.BodyIntake.Growing
import burst.controller.json.{Defaults, JsonPieces}
import burst.controller.definition.EntityName
import burst.controller.flare.FlareRequest
import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, FlareStore, Identity}
import burst.protocol.{FlareId, Inputs}
import org.apache.pekko.http.scaladsl.model.{HttpRequest, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

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
  private val answers = FlareAnswers(FlareKind.Groups, flares, service, blocking)

  def route(caller: Identity): Route =
    concat(
      (pathPrefix("groups") & pathEndOrSingleSlash & extractRequest): request =>
        concat(
          (get & QueryParameters.only(
            "limit",
            "skip",
            "name"
          ))(Answer(answers.list(Some(caller.namespace), request))),
          (post & QueryParameters.only())(Answer(open(caller, request)))
        ),
      (pathPrefix("groups" / Segment) & pathEndOrSingleSlash): text =>
        answers.of(text): id =>
          concat(
            (get & QueryParameters.only())(Answer(answers.show(caller, id))),
            (post & QueryParameters.only("blocking", "result") & extractRequest): request =>
              Answer(flareCall(caller, request)(member(caller, id, _))),
            (delete & QueryParameters.only())(Answer(answers.cancel(id)(answers.own(caller, id))))
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

  private def member(
      caller: Identity,
      id: FlareId,
      body: SplitBody
  ): Either[ApiError, Growing[FlareRequest]] =
    for
      group <- answers.own(caller, id)
      // Its inputs are deleted when the group ends.
      below <- flares.inputs(id).toRight(ApiError.GroupEnded(id))
      wanted <- flareBody.readMember(body, group, membersOf(below), caller.limits)
    yield wanted

  private def membersOf(inputs: Inputs): Defaults = inputs match
    case Inputs.Shared(value) =>
      Defaults(pieces.members(value.bytes, Int.MaxValue).getOrElse(Vector.empty))
    case _ => Defaults(Vector.empty)
