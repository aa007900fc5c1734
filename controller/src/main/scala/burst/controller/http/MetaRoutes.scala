package burst.controller.http

import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route

/** The platform's description of itself, for anyone. */
final class MetaRoutes(
    info: PlatformInfo,
    readiness: Readiness,
    metrics: Scrape
):
  import MetaRoutes.*

  val route: Route =
    concat(
      (pathSingleSlash & get)(complete(info.ofHost)),
      (pathPrefix("api" / "v1") & pathEndOrSingleSlash)(only(complete(info.ofApi))),
      (path("ping") & get)(complete(pong)),
      (path("ready") & get)(complete(readiness.answer())),
      path("api" / "v1" / "openapi.yaml")(only(complete(ApiDescriptionAnswer.asYaml))),
      path("api" / "v1" / "api-docs" ~ Slash.?)(only(complete(ApiDescriptionAnswer.asJson))),
      (path("metrics") & get)(complete(metrics.answer()))
    )

  /** Answers, and refuses other methods here: the request would otherwise reach calls that ask for
    * credentials first.
    */
  private def only(answer: Route): Route =
    concat(
      get(answer),
      Answer.refused(ApiError.MethodNotAllowed(Seq(HttpMethods.GET, HttpMethods.HEAD)))
    )

object MetaRoutes:
  private val pong = HttpResponse(entity = "pong")
