package burst.controller.http

import burst.controller.flare.{Flare, FlareState, Timeline}
import burst.controller.scheduler.{CancelOutcome, Clock, FlareService}
import burst.controller.store.{Blocking, FlareStore, Identity, Transfers}
import burst.protocol.FlareId
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.http.scaladsl.model.{HttpRequest, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** `/flares`: what became of them, what they left, and ending them. */
final class FlaresRoutes(
    store: FlareStore,
    service: FlareService,
    results: ResultAnswer,
    blocking: Blocking,
    transfers: Transfers,
    clock: Clock = Clock.ofMachine
)(using ExecutionContext):
  import JsonMarshalling.ok
  import FlaresRoutes.States

  private val logAnswer = LogAnswer(store, transfers)

  def route(caller: Identity): Route =
    concat(
      (pathPrefix("flares") & pathEndOrSingleSlash):
        (get & QueryParameters.only("limit", "skip", "state", "name") & extractRequest): request =>
          Answer(list(caller, request))
      ,
      pathPrefix("flares" / Segment): text =>
        FlareId.parse(text) match
          case None => Answer.refused(ApiError.InvalidFlareId)
          case Some(id) => ofFlare(caller, id)
    )

  private def ofFlare(caller: Identity, id: FlareId): Route =
    concat(
      pathEndOrSingleSlash:
        concat(
          (get & QueryParameters.only())(Answer(show(caller, id))),
          (delete & QueryParameters.only())(Answer(cancel(caller, id)))
        )
      ,
      (path("result") & get & QueryParameters.only()):
        Answer(blocking(own(caller, id).map(flare => results(StatusCodes.OK, flare))))
      ,
      (path("logs") & get & QueryParameters.only("worker") & extractRequest): request =>
        Answer:
          Refusable(QueryParameters(request.uri.query()).optionalInt("worker")): worker =>
            Refusable(blocking(own(caller, id)))(_ => logAnswer(caller.namespace, id, worker))
      ,
      (path("timeline") & get & QueryParameters.only()):
        Answer:
          read(caller, id)(flare => Views.timeline(flare, Timeline.of(flare, store.phases(id)), clock.now()))
    )

  private def list(caller: Identity, request: HttpRequest): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted =
      for
        page <- query.page()
        state <- query.choice("state", States)
        name <- query.definitionName("name")
      yield (page, state, name)
    Refusable(wanted): (page, state, name) =>
      blocking(store.list(Some(caller.namespace), name, state, page.limit, page.skip)).map: found =>
        ok(Json.fromValues(found.map(Views.summary)))

  private def show(caller: Identity, id: FlareId): Answer =
    Refusable(blocking(own(caller, id))): flare =>
      val estimate =
        if flare.state == FlareState.Queued then service.queueEstimate(id) else Future.successful(None)
      estimate.map(found => ok(Views.flare(flare, found)))

  /** Answers of a flare of the caller's; another's is not there. */
  private def read(caller: Identity, id: FlareId)(view: Flare => Json): Answer =
    blocking(own(caller, id).map(flare => JsonMarshalling.response(StatusCodes.OK, view(flare))))

  private def own(caller: Identity, id: FlareId): Either[ApiError, Flare] =
    store
      .find(id)
      .filter(flare => flare.namespace == caller.namespace && !flare.request.isGroup)
      .toRight(ApiError.NoSuchFlare(id))

  private def cancel(caller: Identity, id: FlareId): Answer =
    Refusable(blocking(own(caller, id))): _ =>
      service
        .cancel(id)
        .map:
          case CancelOutcome.Accepted =>
            Right(JsonMarshalling.response(StatusCodes.Accepted, Views.accepted(id)))
          case CancelOutcome.AlreadyEnded => Left(ApiError.FlareEnded(id))
          case CancelOutcome.NotFound => Left(ApiError.NoSuchFlare(id))

object FlaresRoutes:
  private[http] val States: Map[String, FlareState] =
    FlareState.values.toVector.flatMap(state => state.asJson.asString.map(_ -> state)).toMap
