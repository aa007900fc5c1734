package burst.controller.http

import burst.controller.flare.Timeline
import burst.controller.scheduler.{Clock, FlareService}
import burst.controller.store.{Blocking, FlareStore, Identity, Transfers}
import burst.protocol.FlareId
import org.apache.pekko.http.scaladsl.model.StatusCodes
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

/** `/flares`: their state, what they left behind, and cancelling them. */
final class FlaresRoutes(
    store: FlareStore,
    service: FlareService,
    results: ResultAnswer,
    blocking: Blocking,
    transfers: Transfers,
    clock: Clock = Clock.ofMachine
)(using ExecutionContext):
  private val answers = FlareAnswers(FlareKind.Flares, store, service, blocking)
  private val logAnswer = LogAnswer(store, transfers)

  def route(caller: Identity): Route =
    concat(
      (pathPrefix("flares") & pathEndOrSingleSlash):
        (get & QueryParameters.only("limit", "skip", "state", "name") & extractRequest): request =>
          Answer(answers.list(Some(caller.namespace), request))
      ,
      pathPrefix("flares" / Segment)(answers.of(_)(ofFlare(caller, _)))
    )

  private def ofFlare(caller: Identity, id: FlareId): Route =
    def own = answers.own(caller, id)
    concat(
      pathEndOrSingleSlash:
        concat(
          (get & QueryParameters.only())(Answer(answers.show(caller, id))),
          (delete & QueryParameters.only())(Answer(answers.cancel(id)(own)))
        )
      ,
      (path("result") & get & QueryParameters.only()):
        Answer(blocking(own.map(flare => results(StatusCodes.OK, flare))))
      ,
      (path("logs") & get & QueryParameters.only("worker", "from") & extractRequest): request =>
        val query = QueryParameters(request.uri.query())
        val wanted =
          for worker <- query.optionalInt("worker"); from <- query.logPosition("from") yield (worker, from)
        Answer:
          Refusable(wanted): (worker, from) =>
            Refusable(blocking(own))(_ => logAnswer(caller.namespace, id, worker, from))
      ,
      (path("timeline") & get & QueryParameters.only()):
        Answer:
          blocking(own.flatMap: flare =>
            val timeline = Timeline.of(flare, store.phases(id))
            JsonMarshalling.ok(Views.timeline(flare, timeline, clock.now())))
    )
