package burst.controller.http

import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, FlareStore}
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** What the platform says of itself, to anyone. */
final class MetaRoutes(
    info: PlatformInfo,
    readiness: Readiness,
    metrics: Metrics,
    flares: FlareStore,
    service: FlareService,
    blocking: Blocking
)(using ExecutionContext):
  import MetaRoutes.*

  val route: Route =
    concat(
      (pathSingleSlash & get)(complete(info.ofHost)),
      (pathPrefix("api" / "v1") & pathEndOrSingleSlash):
        // Nothing else stands here, whoever asks.
        concat(
          get(complete(info.ofApi)),
          Answer.refused(ApiError.MethodNotAllowed(Seq(HttpMethods.GET, HttpMethods.HEAD)))
        )
      ,
      (path("ping") & get)(complete(pong)),
      (path("ready") & get)(complete(readiness.answer())),
      (path("api" / "v1" / "openapi.yaml") & get)(complete(ApiDescriptionAnswer.asYaml)),
      (path("api" / "v1" / "api-docs" ~ Slash.?) & get)(complete(ApiDescriptionAnswer.asJson)),
      (path("metrics") & get)(Answer(scrape()))
    )

  private var scraped: Answer = Future.failed(IllegalStateException("nobody has asked yet"))

  /** Anyone may ask, and it takes a look into the database: one at a time, for all who ask meanwhile. */
  private def scrape(): Answer = synchronized:
    if scraped.isCompleted then scraped = measured()
    scraped

  private def measured(): Answer =
    for
      views <- service.invokers()
      states <- blocking(flares.countByState())
    yield Right(HttpResponse(entity = HttpEntity.Strict(PrometheusText, metrics.render(states, views))))

object MetaRoutes:
  private val PrometheusText =
    ContentType.parse(Metrics.ContentType).getOrElse(ContentTypes.`text/plain(UTF-8)`)

  private val pong = HttpResponse(entity = "pong")
