package burst.controller.http

import burst.controller.definition.{Definition, EntityName, Version}
import burst.controller.deploy.Definitions
import burst.controller.store.{Blocking, DefinitionStore, Identity, Transfers}
import burst.protocol.Timestamp
import io.circe.Json
import org.apache.pekko.http.scaladsl.model.HttpRequest
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** Finds the version of a definition that a request is about. Calls block. */
final class Versions(stored: DefinitionStore):
  /** Returns the version that the field `version` names, or the present one, of a definition that workers can
    * run.
    */
  def wanted(namespace: String, name: String, fields: Fields): Either[ApiError, Definition] =
    val found = fields.version("version").flatMap:
      case None => stored.find(namespace, name).toRight(ApiError.NoSuchDefinition(name))
      case Some(version) => find(namespace, name, version)
    found.filterOrElse(!_.isSequence, ApiError.NoWorkers(name))

  def find(namespace: String, name: String, version: String): Either[ApiError, Definition] =
    stored.find(namespace, name, version).toRight:
      if stored.find(namespace, name).isEmpty then ApiError.NoSuchDefinition(name)
      else ApiError.NoSuchVersion(name, version)

/** `/bursts/{name}/versions` and `/rollback`: the earlier versions of a definition, and the return to one of
  * them.
  */
final class VersionsRoutes(
    definitions: Definitions,
    stored: DefinitionStore,
    versions: Versions,
    body: RequestBody,
    deploys: Deploys,
    views: Views,
    blocking: Blocking,
    transfers: Transfers
)(using ExecutionContext):
  import JsonMarshalling.ok

  def route(caller: Identity): Route =
    pathPrefix("bursts" / Segment): name =>
      concat(
        (pathPrefix("versions") & pathEndOrSingleSlash & get & QueryParameters.only("limit", "skip")):
          extractRequest(request => Answer(named(name)(list(caller, name, request))))
        ,
        (pathPrefix("versions" / Segment) & pathEndOrSingleSlash & get & QueryParameters.only()): version =>
          Answer(named(name)(show(caller, name, version))),
        (pathPrefix("rollback") & pathEndOrSingleSlash & post & QueryParameters.only()):
          extractRequest(request => Answer(named(name)(rollBack(caller, name, request))))
      )

  private def named(name: String)(answer: => Answer): Answer =
    if EntityName.isPath(name) then answer else Future.successful(Left(ApiError.InvalidName))

  private def list(caller: Identity, name: String, request: HttpRequest): Answer =
    Refusable(QueryParameters(request.uri.query()).page()): page =>
      blocking:
        val found = stored.versions(caller.namespace, name, page.limit, page.skip)
        if found.isEmpty && stored.find(caller.namespace, name).isEmpty then
          Left(ApiError.NoSuchDefinition(name))
        else ok(Json.fromValues(found.map(views.summary)))

  private def show(caller: Identity, name: String, version: String): Answer =
    if Version.revision(version).isEmpty then Future.successful(Left(ApiError.InvalidVersion))
    else
      blocking(versions.find(caller.namespace, name, version).flatMap(found => ok(views.definition(found))))

  private def rollBack(caller: Identity, name: String, request: HttpRequest): Answer =
    // It costs the database as much as a deploy.
    Refusable(deploys.admit(caller)): _ =>
      Refusable(body.fields(request)): fields =>
        Refusable(fields.only("version").flatMap(_ => fields.version("version"))): version =>
          // The packages of versions that are dropped are deleted with it.
          Blocking(transfers.of(caller.namespace)):
            definitions
              .rollBack(caller.namespace, name, version, caller.limits, Timestamp.now())
              .left
              .map(ApiError.NotDeployed(name, _))
              .flatMap(there => ok(views.definition(there)))
