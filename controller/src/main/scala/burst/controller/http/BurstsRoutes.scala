package burst.controller.http

import burst.controller.definition.{ActionFields, Definition, EntityName}
import burst.controller.deploy.{Definitions, PackageInspector}
import burst.controller.scheduler.FlareService
import burst.controller.secrets.{DefinitionName, Secrets}
import burst.controller.store.{Blocking, DefinitionStore, Identity, Transfers}
import burst.protocol.{PackageId, RuntimeInfo}
import io.circe.{Json, JsonObject}
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** `/bursts`: deploying, reading and removing definitions, and starting flares of them. */
final class BurstsRoutes(
    definitions: Definitions,
    secrets: Secrets,
    stored: DefinitionStore,
    versions: Versions,
    service: FlareService,
    flareCall: FlareCall,
    inspector: PackageInspector,
    deployBody: DeployBody,
    flareBody: FlareBody,
    deploys: Deploys,
    views: Views,
    blocking: Blocking,
    transfers: Transfers
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
    parameters(request).page() match
      case Left(error) => Future.successful(Left(error))
      case Right(page) =>
        blocking(stored.list(caller.namespace, page.limit, page.skip)).map: found =>
          ok(Json.fromValues(found.map(views.summary)))

  private def show(caller: Identity, name: String): Answer =
    blocking(stored.find(caller.namespace, name)).map:
      case Some(definition) => ok(views.definition(definition))
      case None => Left(ApiError.NoSuchDefinition(name))

  private def remove(caller: Identity, name: String): Answer =
    moving(caller)(definitions.remove(caller.namespace, name)).map:
      case Some(definition) => ok(views.definition(definition))
      case None => Left(ApiError.NoSuchDefinition(name))

  private def deploy(caller: Identity, name: String, request: HttpRequest): Answer =
    deploys(caller, request): (overwrite, taken) =>
      for
        runtimes <- service.invokers().map(_.filter(_.up).map(_.status.runtime).distinct)
        inspected <- taken.inTurn(inspect(caller, _, runtimes))
        // A bucket may take long: no other namespace waits for it.
        answer <- Refusable(inspected)(found => moving(caller)(store(caller, name, overwrite, found)))
      yield answer

  private def inspect(
      caller: Identity,
      body: ByteString,
      runtimes: Vector[RuntimeInfo]
  ): Either[ApiError, Deployment] =
    for
      deployment <- deployBody.read(body, caller.limits)
      _ <- inspector
        .inspect(deployment.code.bytes, deployment.family, deployment.code.binary, runtimes)
        .left
        .map(ApiError.PackageRefused(_))
    yield deployment

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

  /** For what stores and deletes packages. */
  private def moving(caller: Identity) = Blocking(transfers.of(caller.namespace))

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
      updated = System.currentTimeMillis() * 1000,
      action = ActionFields(main = deployment.main, binary = deployment.code.binary)
    )

  private def flare(caller: Identity, name: String, request: HttpRequest): Answer =
    flareCall(caller, request): body =>
      for
        definition <- versions.wanted(caller.namespace, name, Fields.of(body.fields))
        wanted <- flareBody.read(body, definition, caller.limits)
      yield wanted

  private def parameters(request: HttpRequest) = QueryParameters(request.uri.query())
