package burst.controller.http

import burst.controller.definition.{Kind, KindFamily}
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.http.scaladsl.model.{HttpResponse, StatusCodes}

/** The platform's description of itself, in the words of OpenWhisk's clients, with a few of our own beside
  * them.
  */
final class PlatformInfo(limits: ActionLimits):
  import PlatformInfo.*

  /** Describes the whole host. */
  lazy val ofHost: HttpResponse = answer(
    "description" -> Description.asJson,
    "support" -> Support.asJson,
    "api_paths" -> Seq(Api).asJson,
    "limits" -> limits.ofPlatform,
    "runtimes" -> Json.fromFields(runnable.map(family => family.name -> runtimes(family)))
  )

  /** Describes the version of the API, which is the only one. */
  lazy val ofApi: HttpResponse = answer(
    "description" -> Description.asJson,
    "api_version" -> "1.0.0".asJson,
    "api_version_path" -> "v1".asJson,
    "build" -> Build.asJson,
    "buildno" -> Build.asJson,
    "swagger_paths" -> Json.obj("ui" -> Support.asJson, "api-docs" -> Documents.asJson)
  )

object PlatformInfo:
  private val Api = "/api/v1"
  private val Support = s"$Api/openapi.yaml"
  private val Documents = s"$Api/api-docs"
  private val Description = "Burst, a platform for burst computing"

  /** The version, for a build that was packaged. */
  private val Build: String =
    Option(
      getClass.getPackage
    ).flatMap(found => Option(found.getImplementationVersion)).getOrElse("development")

  private def answer(fields: (String, Json)*): HttpResponse =
    val own = Seq("name" -> "burst".asJson, "api" -> Api.asJson, "kinds" -> Kind.Names.asJson)
    JsonMarshalling.response(StatusCodes.OK, Json.fromFields(fields ++ own))

  /** The kinds that have versions. */
  private val runnable = KindFamily.values.toSeq.filter(_.versions.nonEmpty)

  private def runtimes(family: KindFamily): Json = Json.fromValues(family.versions.map: version =>
    Json.obj(
      "kind" -> s"${family.name}:$version".asJson,
      "image" -> s"burst-${family.name}".asJson,
      "deprecated" -> false.asJson,
      "default" -> (version == family.default).asJson,
      "attached" -> true.asJson,
      "requireMain" -> false.asJson
    ))
