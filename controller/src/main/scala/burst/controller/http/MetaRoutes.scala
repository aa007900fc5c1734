package burst.controller.http

import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route

/** What the platform says of itself, to anyone. */
final class MetaRoutes(
    info: PlatformInfo,
    readiness: Readiness,
    metrics: Scrape
):
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
      (path("metrics") & get)(complete(metrics.answer()))
    )

object MetaRoutes:
  private val pong = HttpResponse(entity = "pong")
