package burst.controller.http

import burst.controller.gateway.*
import burst.controller.http.BodyIntake.Growing
import burst.controller.store.{Blocking, Identity}
import burst.controller.web.{WebExtension, WebProblem}
import io.circe.{Json, JsonObject}
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import org.apache.pekko.util.ByteString
import scala.concurrent.ExecutionContext

/** `/web/whisk.system/apimgmt`: the calls by which OpenWhisk's clients manage APIs; OpenWhisk implements them
  * as web actions.
  */
final class ApiManagementRoutes(
    apis: GatewayApis,
    authentication: Authentication,
    limits: RequestLimits,
    deploys: Deploys,
    intake: BodyIntake,
    body: RequestBody,
    settings: WebSettings,
    blocking: Blocking
)(using ExecutionContext):
  import ApiManagementRoutes.*

  val route: Route =
    pathPrefix("web" / "whisk.system" / "apimgmt"):
      extractRequest: request =>
        WebCrossOrigin.directive:
          if request.method == HttpMethods.OPTIONS then complete(HttpResponse())
          else
            concat(
              path(Segment ~ Slash.?)(name => action(WebExtension.split(name)(0))),
              Answer.refused(ApiError.Web(WebProblem.NoSuchAction))
            )

  private def action(name: String): Route = name match
    case "createApi" => called(HttpMethods.POST)(create)
    case "getApi" => called(HttpMethods.GET)(list)
    case "deleteApi" => called(HttpMethods.DELETE)(delete)
    case _ => Answer.refused(ApiError.Web(WebProblem.NoSuchAction))

  private def called(verb: HttpMethod)(answer: (Identity, HttpRequest) => Answer): Route =
    authentication.caller: caller =>
      limits.within(caller):
        extractRequest: request =>
          if request.method == verb then Answer(answer(caller, request))
          else Answer.refused(ApiError.MethodNotAllowed(Seq(verb)))

  private def create(caller: Identity, request: HttpRequest): Answer =
    val wanted = QueryParameters(request.uri.query())
      .choice("responsetype", Extensions)
      .flatMap(extension => deploys.admit(caller).map(_ => extension.getOrElse(WebExtension.Json)))
    Refusable(wanted): extension =>
      intake.ofAnyType(caller.namespace, request)(read(caller, extension)(_).map(Growing.done)): wanted =>
        val site = GatewayAddress.site(request)
        blocking(apis.create(caller.namespace, wanted, site)).map:
          _.left
            .map(ApiError.Gateway(_))
            .map(made => ok(shown(caller, request, made, made.json)))

  private def read(
      caller: Identity,
      extension: WebExtension
  )(bytes: ByteString): Either[ApiError, ApiRequest] =
    body.parse(bytes).flatMap: json =>
      // A document sent as a string is subject to the same limits.
      ApiRequest
        .read(json, caller.namespace, extension, text => body.parse(ByteString(text)).toOption)
        .left
        .map(ApiError.Gateway(_))

  private def list(caller: Identity, request: HttpRequest): Answer =
    val query = request.uri.query()
    val wanted =
      for
        page <- QueryParameters(query).page()
        verb <- verb(query)
      yield (page, verb)
    Refusable(wanted): (page, verb) =>
      val (api, path) = (said(query, "basepath"), said(query, "relpath"))
      blocking(apis.list(caller.namespace, api, path, verb, page.limit, page.skip)).map: found =>
        val all = found.map: (document, part) =>
          Json.obj(
            "id" -> Json.fromString(s"API:${caller.namespace}:${document.basePath}"),
            "key" -> Json.fromString(document.basePath),
            "value" -> shown(caller, request, document, part)
          )
        Right(ok(Json.obj("apis" -> Json.fromValues(all))))

  private def delete(caller: Identity, request: HttpRequest): Answer =
    val query = request.uri.query()
    val wanted =
      for
        api <- said(
          query,
          "basepath"
        ).toRight(ApiError.InvalidParameter("basepath", "the base path of an API, or its name"))
        verb <- verb(query)
        _ <- deploys.admit(caller)
      yield (api, verb)
    Refusable(wanted): (api, verb) =>
      blocking(apis.delete(caller.namespace, api, said(query, "relpath"), verb)).map:
        _.left.map(ApiError.Gateway(_)).map(_ => ok(Json.obj()))

  private def verb(query: Uri.Query): Either[ApiError, Option[String]] =
    said(query, "operation").fold(Right(None))(text =>
      ApiDocument.verb(text).map(Some(_)).left.map(ApiError.Gateway(_))
    )

  private def shown(caller: Identity, request: HttpRequest, document: ApiDocument, part: JsonObject): Json =
    Json.obj(
      "namespace" -> Json.fromString(caller.namespace),
      "gwApiUrl" -> Json.fromString(GatewayAddress.of(
        settings,
        request,
        caller.namespace,
        document.basePath
      )),
      "gwApiActivated" -> Json.True,
      "tenantId" -> Json.fromString(Tenant.of(caller.namespace)),
      "apidoc" -> Json.fromJsonObject(part)
    )

object ApiManagementRoutes:
  /** Sized for a document that is sent as a string in JSON. */
  val Bodies: BodyIntake.Settings = BodyIntake.Settings(512 * 1024, 8L << 20, 4L << 20, 8L << 20)

  private val Extensions = WebExtension.values.map(it => it.suffix.drop(1) -> it).toMap

  private def said(query: Uri.Query, name: String): Option[String] = query.get(name).filter(_.nonEmpty)

  private def ok(json: Json): HttpResponse = JsonMarshalling.response(StatusCodes.OK, json)
