package burst.controller.http

import burst.controller.definition.{ActionFields, Definition, EntityName}
import burst.controller.deploy.Definitions
import burst.controller.secrets.{DefinitionName, Secrets}
import burst.controller.store.{Blocking, DefinitionStore, Identity}
import burst.protocol.{PackageId, Timestamp}
import io.circe.{Json, JsonObject}
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

/** `/bursts`: deploying, reading and removing definitions, and starting flares of them. */
final class BurstsRoutes(
    definitions: Definitions,
    secrets: Secrets,
    stored: DefinitionStore,
    versions: Versions,
    flareCall: FlareCall,
    deployBody: DeployBody,
    flareBody: FlareBody,
    deploys: ProgramDeploys,
    views: Views,
    blocking: Blocking
)(using ExecutionContext):
  import JsonMarshalling.ok

  def route(caller: Identity): Route =
    concat(
      (pathPrefix("bursts") & pathEndOrSingleSlash):
        (get & QueryParameters.only("limit", "skip") & extractRequest)(request =>
          Answer(list(caller, request))
        )
      ,
      (pathPrefix("bursts" / Segment) & pathEndOrSingleSlash): name =>
        if !EntityName.isPath(name) then Answer.refused(ApiError.InvalidName)
        else
          extractRequest: request =>
            concat(
              (put & QueryParameters.only("overwrite"))(Answer(deploy(caller, name, request))),
              (get & QueryParameters.only())(Answer(show(caller, name))),
              (delete & QueryParameters.only())(Answer(remove(caller, name))),
              (post & QueryParameters.only("blocking", "result"))(Answer(flare(caller, name, request)))
            )
    )

  private def list(caller: Identity, request: HttpRequest): Answer =
    Refusable(QueryParameters(request.uri.query()).page()): page =>
      blocking(stored.list(caller.namespace, page.limit, page.skip)).map: found =>
        ok(Json.fromValues(found.map(views.summary)))

  private def show(caller: Identity, name: String): Answer =
    blocking(stored.find(caller.namespace, name)).map:
      case Some(definition) => ok(views.definition(definition))
      case None => Left(ApiError.NoSuchDefinition(name))

  private def remove(caller: Identity, name: String): Answer =
    deploys.moving(caller)(definitions.remove(caller.namespace, name)).map:
      case Some(definition) => ok(views.definition(definition))
      case None => Left(ApiError.NoSuchDefinition(name))

  private def deploy(caller: Identity, name: String, request: HttpRequest): Answer =
    deploys(caller, request)(deployBody.read(_, caller.limits))(program): (overwrite, deployment) =>
      store(caller, name, overwrite, deployment)

  private val program = ProgramDeploys.ProgramOf[Deployment](
    read => Some(read.code -> read.family),
    (read, code) => read.copy(code = code)
  )

  private def store(
      caller: Identity,
      name: String,
      overwrite: Boolean,
      deployment: Deployment
  ): Either[ApiError, HttpResponse] =
    deployment.variables
      .seal(DefinitionName(caller.namespace, name), secrets)
      .flatMap: variables =>
        definitions
          .deploy(
            definition(caller, name, deployment),
            deployment.code.bytes,
            overwrite,
            caller.limits,
            replaceParameters = deployment.parameters.isDefined,
            variables
          )
          .left
          .map(ApiError.NotDeployed(name, _))
      .flatMap(there => ok(views.definition(there)))

  private def definition(caller: Identity, name: String, deployment: Deployment): Definition =
    Definition(
      caller.namespace,
      name,
      version = "",
      deployment.kind,
      PackageId.of(deployment.code.bytes),
      deployment.code.bytes.length,
      deployment.options,
      deployment.parameters.getOrElse(JsonObject.empty),
      updated = Timestamp.now(),
      action = ActionFields(main = deployment.main, binary = deployment.code.binary)
    )

  private def flare(caller: Identity, name: String, request: HttpRequest): Answer =
    flareCall(caller, request): body =>
      for
        definition <- versions.wanted(caller.namespace, name, Fields.of(body.fields))
        wanted <- flareBody.read(body, definition, caller.limits)
      yield wanted
