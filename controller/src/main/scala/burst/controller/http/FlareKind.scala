package burst.controller.http

import burst.controller.flare.{Flare, FlareState}
import burst.controller.scheduler.{CancelOutcome, CancelledBy, FlareService, QueueEstimate}
import burst.controller.store.{Blocking, FlareStore, Identity}
import burst.protocol.{FlareId, Timestamp}
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.http.scaladsl.model.{HttpRequest, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** Flares, and groups, which are flares too: what differs between calls about them. */
private[http] enum FlareKind(
    val path: String,
    val isGroup: Boolean,
    val invalid: ApiError,
    val unknown: FlareId => ApiError,
    val ended: FlareId => ApiError,
    val accepted: FlareId => Json,
    val summary: Flare => Json,
    val whole: (Flare, Option[QueueEstimate[Timestamp]]) => Json
):
  case Flares
      extends FlareKind(
        "flares",
        isGroup = false,
        ApiError.InvalidFlareId,
        ApiError.NoSuchFlare(_),
        ApiError.FlareEnded(_),
        Views.accepted,
        Views.summary,
        Views.flare
      )
  case Groups
      extends FlareKind(
        "groups",
        isGroup = true,
        ApiError.InvalidGroupId,
        ApiError.NoSuchGroup(_),
        ApiError.GroupEnded(_),
        Views.acceptedGroup,
        Views.groupSummary,
        Views.group
      )

/** What calls about flares and groups have in common. */
private[http] final class FlareAnswers(
    kind: FlareKind,
    store: FlareStore,
    service: FlareService,
    blocking: Blocking
)(using ExecutionContext):
  /** Routes to the flare or group whose id is in the path. */
  def of(text: String)(route: FlareId => Route): Route =
    FlareId.parse(text).fold(Answer.refused(kind.invalid))(route)

  /** Lists those of a namespace, or else those that the query selects; parameters that the query may not have
    * were rejected before.
    */
  def list(namespace: Option[String], request: HttpRequest): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted =
      for
        page <- query.page()
        wanted <- query.entityName("namespace")
        state <- query.choice("state", FlareAnswers.States)
        name <- query.definitionName("name")
      yield (page, namespace.orElse(wanted), state, name)
    Refusable(wanted): (page, namespace, state, name) =>
      blocking(store.list(namespace, name, state, page.limit, page.skip, kind.isGroup)).map: found =>
        JsonMarshalling.ok(Json.fromValues(found.map(kind.summary)))

  def show(caller: Identity, id: FlareId): Answer =
    Refusable(blocking(own(caller, id))): flare =>
      val estimate =
        if flare.state == FlareState.Queued then service.queueEstimate(id) else Future.successful(None)
      estimate.map(found => JsonMarshalling.ok(kind.whole(flare, found)))

  /** Finds one of the caller's; another namespace's counts as missing. */
  def own(caller: Identity, id: FlareId): Either[ApiError, Flare] =
    find(id).filterOrElse(_.namespace == caller.namespace, kind.unknown(id))

  def find(id: FlareId): Either[ApiError, Flare] =
    store.find(id).filter(_.request.isGroup == kind.isGroup).toRight(kind.unknown(id))

  /** Cancels the one that `known` finds. */
  def cancel(id: FlareId, by: CancelledBy = CancelledBy.User)(known: => Either[ApiError, Flare]): Answer =
    Refusable(blocking(known)): _ =>
      service
        .cancel(id, by)
        .map:
          case CancelOutcome.Accepted =>
            Right(JsonMarshalling.response(StatusCodes.Accepted, kind.accepted(id)))
          case CancelOutcome.AlreadyEnded => Left(kind.ended(id))
          case CancelOutcome.NotFound => Left(kind.unknown(id))

private object FlareAnswers:
  private val States: Map[String, FlareState] =
    FlareState.values.toVector.flatMap(state => state.asJson.asString.map(_ -> state)).toMap
