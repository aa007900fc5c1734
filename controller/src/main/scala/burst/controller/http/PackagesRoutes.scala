package burst.controller.http

import burst.controller.action.{ActionName, OpenPackages}
import burst.controller.definition.{ActionPackage, EntityName, EntityVersion, PackageName, Parameters}
import burst.controller.deploy.Definitions
import burst.controller.json.JsonPieces
import burst.controller.limits.NamespaceLimits
import burst.controller.store.{
  ActionPackageStore,
  Blocking,
  DefinitionStore,
  Identity,
  PackageRefusal,
  Transfers
}
import burst.protocol.Timestamp
import io.circe.{Json, JsonObject}
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** `/packages`: packages of actions, and bindings to those of others. */
final class PackagesRoutes(
    packages: ActionPackageStore,
    stored: DefinitionStore,
    definitions: Definitions,
    pieces: JsonPieces,
    deploys: Deploys,
    elsewhere: OtherCollections,
    blocking: Blocking,
    transfers: Transfers
)(using ExecutionContext):
  import EntityProblem.*
  import JsonMarshalling.ok
  import PackagesRoutes.*

  private val open = OpenPackages(packages)

  /** Returns the routes of a namespace, which need not be the caller's. */
  def route(caller: Identity, namespace: String): Route =
    val owner = if namespace == ActionName.Own then caller.namespace else namespace
    pathPrefix("packages"):
      extractRequest: request =>
        concat(
          (pathEndOrSingleSlash & get)(Answer(list(caller, owner, request))),
          (path("refresh") & post)(Answer(own(caller, owner)(Future.successful(ok(refreshed))))),
          (pathPrefix(Segment) & pathEndOrSingleSlash): name =>
            def named(answer: => Answer): Route =
              if EntityName.isValid(name) then Answer(elsewhere(caller)(answer))
              else Answer.refused(ApiError.InvalidName)
            concat(
              get(named(show(caller, owner, name))),
              put(named(own(caller, owner)(change(caller, name, request)))),
              delete(named(own(caller, owner)(remove(caller, name, request))))
            )
        )

  private def own(caller: Identity, owner: String)(answer: => Answer): Answer =
    if owner == caller.namespace then answer else Future.successful(Left(ApiError.OtherNamespace))

  private def list(caller: Identity, owner: String, request: HttpRequest): Answer =
    val published = owner != caller.namespace
    EntityList("packages", request, blocking)(packages.count(owner, published)): page =>
      val found = packages.list(owner, published, page.limit, page.skip)
      ListedAnnotations.ofPackages(found.iterator).map(EntityViews.summary)

  private def show(caller: Identity, owner: String, name: String): Answer =
    blocking:
      val found =
        for
          found <- open.find(caller.namespace, owner, name)
          resolved <- open.resolve(caller.namespace, found)
        yield EntityViews.whole(
          found.copy(parameters = resolved.parameters),
          actionsOf(resolved.actionPackage)
        )
      found.left.map(problem => ApiError.OfEntity(Unreachable(problem))).flatMap(ok(_))

  private def actionsOf(found: ActionPackage) =
    val pages = Iterator
      .range(0, MostActions, Page.Most)
      .map(stored.list(found.namespace, Page.Most, _, Some(found.name)))
      .takeWhile(_.nonEmpty)
    ListedAnnotations.ofActions(pages.flatten)

  private def change(caller: Identity, name: String, request: HttpRequest): Answer =
    if name == Reserved then Future.successful(Left(ApiError.OfEntity(ReservedName(name))))
    else
      deploys(caller, request): (overwrite, taken) =>
        Refusable(taken.inTurn(bytes => SplitBody.ofEntity(bytes, pieces).flatMap(read(caller, _)))):
          change =>
            blocking(store(caller.namespace, caller.limits, name, overwrite, change))

  private def read(caller: Identity, body: JsonObject): Either[ApiError, PackageChange] =
    val fields = Fields.of(body)
    for
      binding <- fields.objectAt("binding")
      target <- binding.filter(_.nonEmpty).fold(Right(None))(_ => bindingTarget(caller, fields).map(Some(_)))
      parameters <- KeyValues.parameters(body)
      annotations <- KeyValues.read(body, "annotations")
      publish <- fields.boolean("publish")
      version <- ActionBody.version(fields)
    yield PackageChange(target, parameters, annotations.map(_.values), publish, version)

  private def bindingTarget(caller: Identity, fields: Fields): Either[ApiError, PackageName] =
    for
      inner <- fields.fields("binding")
      namespace <- inner.string("namespace")
      name <- inner.requiredString("name")
      owner = namespace.filter(_ != ActionName.Own).getOrElse(caller.namespace)
      _ <- Either.cond(
        EntityName.isValid(owner) && EntityName.isValid(name),
        (),
        ApiError.OfEntity(EntityProblem.InvalidName("binding"))
      )
    yield PackageName(owner, name)

  private def store(
      namespace: String,
      limits: NamespaceLimits,
      name: String,
      overwrite: Boolean,
      change: PackageChange
  ): Either[ApiError, HttpResponse] =
    packages
      .edit(namespace, name, limits):
        case Some(_) if !overwrite => Left(PackageRefusal.Exists)
        case there => Right(change.over(there, namespace, name, Timestamp.now()))
      .left
      .map(refusal => ApiError.OfEntity(PackageNotStored(name, refusal)))
      .flatMap(stored => ok(EntityViews.stored(stored)))

  private def remove(caller: Identity, name: String, request: HttpRequest): Answer =
    Refusable(QueryParameters(request.uri.query()).flag("force")): force =>
      Blocking(transfers.of(caller.namespace)):
        packages.delete(caller.namespace, name, force) match
          case Left(refusal) => Left(ApiError.OfEntity(PackageNotStored(name, refusal)))
          case Right(deleted) =>
            definitions.released(deleted.released)
            ok(EntityViews.stored(deleted.there))

object PackagesRoutes:
  /** The package name that addresses of web actions use for actions in no package. */
  private val Reserved = "default"

  /** The most actions that are shown with their package; lists show all. */
  private val MostActions = 1000

  /** The changes that a request makes to a package; fields it leaves out keep their stored values. */
  private final case class PackageChange(
      binding: Option[PackageName],
      parameters: Option[Parameters],
      annotations: Option[JsonObject],
      publish: Option[Boolean],
      version: Option[String]
  ):
    def over(there: Option[ActionPackage], namespace: String, name: String, now: Timestamp): ActionPackage =
      ActionPackage(
        namespace,
        name,
        version.getOrElse(there.fold(EntityVersion.First)(found => EntityVersion.after(found.version))),
        publish.orElse(there.map(_.publish)).getOrElse(false),
        binding.orElse(there.flatMap(_.binding)),
        parameters.orElse(there.map(_.parameters)).getOrElse(Parameters.Empty),
        annotations.orElse(there.map(_.annotations)).getOrElse(JsonObject.empty),
        now
      )

  /** The answer to a refresh. Bindings are never out of date here, but wsk's `package refresh` asks all the
    * same.
    */
  private val refreshed = Json.obj(
    "added" -> Json.arr(),
    "updated" -> Json.arr(),
    "deleted" -> Json.arr()
  )
