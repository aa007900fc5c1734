package burst.controller.http

import burst.controller.action.BuiltIns
import burst.controller.definition.EntityName
import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, Namespace, NamespaceStore}
import burst.controller.limits.OwnLimits
import io.circe.Json
import org.apache.pekko.http.scaladsl.model.{HttpRequest, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** `/admin/namespaces`: who may use the platform, and how much of it. */
final class NamespacesRoutes(
    namespaces: NamespaceStore,
    service: FlareService,
    body: RequestBody,
    blocking: Blocking
)(using ExecutionContext):
  import JsonMarshalling.ok
  import NamespacesRoutes.*

  val route: Route =
    concat(
      (pathPrefix("namespaces") & pathEndOrSingleSlash & get & QueryParameters.only("limit", "skip")):
        extractRequest(request => Answer(list(request)))
      ,
      (pathPrefix("namespaces" / Segment) & pathEndOrSingleSlash): name =>
        if !EntityName.isValid(name) || name == "_" then Answer.refused(ApiError.InvalidName)
        else
          extractRequest: request =>
            concat(
              (put & QueryParameters.only("overwrite"))(if Reserved(name) then Answer.refused(reserved(name))
              else Answer(create(name, request))),
              (get & QueryParameters.only())(Answer(found(name, namespaces.find(name)))),
              (patch & QueryParameters.only())(Answer(limit(name, request))),
              (delete & QueryParameters.only())(Answer(revoke(name)))
            )
      ,
      (path("namespaces" / Segment / "key" ~ Slash.?) & post & QueryParameters.only()): name =>
        if !EntityName.isValid(name) || name == "_" then Answer.refused(ApiError.InvalidName)
        else if Reserved(name) then Answer.refused(reserved(name))
        else Answer(replaceKey(name))
    )

  private def list(request: HttpRequest): Answer =
    Refusable(QueryParameters(request.uri.query()).page()): page =>
      blocking(namespaces.list(page.limit, page.skip)).map: found =>
        ok(Json.fromValues(found.map(Views.namespace)))

  private def found(name: String, namespace: => Option[Namespace]): Answer =
    blocking(namespace).map:
      case Some(namespace) => ok(Views.namespace(namespace))
      case None => Left(ApiError.NoSuchNamespace(name))

  /** Revokes a namespace: its key becomes invalid before its flares are ended, so that no new ones follow. */
  private def revoke(name: String): Answer =
    found(name, namespaces.revoke(name)).flatMap:
      case Right(answer) => service.endRevoked(name).map(_ => Right(answer))
      case refused => Future.successful(refused)

  private def create(name: String, request: HttpRequest): Answer =
    Refusable(QueryParameters(request.uri.query()).flag("overwrite")): overwrite =>
      Refusable(body.fields(request)): fields =>
        blocking:
          for
            limits <- ownLimits(fields)
            issued <- namespaces.issue(name, limits, overwrite).toRight(ApiError.NamespaceExists(name))
          yield JsonMarshalling.response(StatusCodes.OK, Views.issued(issued))

  private def limit(name: String, request: HttpRequest): Answer =
    Refusable(body.fields(request)): fields =>
      blocking:
        for
          limits <- ownLimits(fields)
          namespace <- namespaces.limit(name, limits).toRight(ApiError.NoSuchNamespace(name))
        yield JsonMarshalling.response(StatusCodes.OK, Views.namespace(namespace))

  private def replaceKey(name: String): Answer =
    blocking:
      for issued <- namespaces.replaceKey(name).toRight(ApiError.NoSuchNamespace(name))
      yield JsonMarshalling.response(StatusCodes.OK, Views.issued(issued))

object NamespacesRoutes:
  private val Million = 1_000_000

  /** The namespace of the platform's own packages: whoever had a key to it could replace them. */
  private val Reserved = Set(BuiltIns.Namespace)
  private def reserved(name: String): ApiError = ApiError.OfEntity(EntityProblem.ReservedName(name))

  private def ownLimits(fields: Fields): Either[ApiError, OwnLimits] =
    for
      _ <- fields.only("limits")
      limits <- fields.fields("limits")
      _ <- limits.only(Views.LimitNames*)
      burstSize <- limits.int("burstSize", 1, Million)
      concurrentSlots <- limits.int("concurrentSlots", 1, Million)
      memory <- limits.int("memory", OptionsReader.LeastMemory, 1 << 20)
      packageSize <- limits.long("packageSize", 1, 1L << 30)
      flaresPerMinute <- limits.int("flaresPerMinute", 0, Million)
      definitions <- limits.int("definitions", 0, Million)
      definitionsSize <- limits.long("definitionsSize", 0, 1L << 50)
      storedSize <- limits.long("storedSize", 0, 1L << 50)
      invocationsPerMinute <- limits.int("invocationsPerMinute", 0, Million)
      firesPerMinute <- limits.int("firesPerMinute", 0, Million)
      deploysPerMinute <- limits.int("deploysPerMinute", 0, Million)
      requestsPerMinute <- limits.int("requestsPerMinute", 1, Million)
      concurrentRequests <- limits.int("concurrentRequests", 1, Million)
      egress <- limits.boolean("egress")
    yield OwnLimits(
      burstSize,
      concurrentSlots,
      memory,
      packageSize,
      flaresPerMinute,
      definitions,
      definitionsSize,
      storedSize,
      invocationsPerMinute,
      firesPerMinute,
      deploysPerMinute,
      requestsPerMinute,
      concurrentRequests,
      egress
    )
