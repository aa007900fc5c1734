package burst.controller.http

import burst.controller.action.{ActionName, ActionProblem, Actions, OpenPackages, Sequences}
import burst.controller.definition.{EntityName, KindFamily}
import burst.controller.deploy.Definitions
import burst.controller.store.{ActionPackageStore, Blocking, DefinitionStore, Identity}
import burst.protocol.Timestamp
import io.circe.syntax.*
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** `/actions`: creating, reading and deleting actions as OpenWhisk's clients do. */
final class ActionsRoutes(
    actions: Actions,
    sequences: Sequences,
    stored: DefinitionStore,
    packages: ActionPackageStore,
    definitions: Definitions,
    body: ActionBody,
    deploys: ProgramDeploys,
    views: EntityViews,
    codes: CodeAnswer,
    elsewhere: OtherCollections,
    blocking: Blocking
)(using ExecutionContext):
  import EntityProblem.*
  import JsonMarshalling.ok

  private val open = OpenPackages(packages)

  /** Returns the routes of a namespace, which need not be the caller's. */
  def route(caller: Identity, namespace: String): Route =
    val owner = if namespace == ActionName.Own then caller.namespace else namespace
    pathPrefix("actions"):
      extractRequest: request =>
        concat(
          (pathEndOrSingleSlash & get)(Answer(list(caller, owner, None, request))),
          (path(Segment / PathEnd) & get)(name =>
            Answer(elsewhere(caller)(listOf(caller, owner, name, request)))
          ),
          path(Segment)(name => entity(caller, ActionName(owner, None, name), request)),
          path(Segment / Segment): (inPackage, name) =>
            entity(caller, ActionName(owner, Some(inPackage), name), request)
        )

  private def entity(caller: Identity, name: ActionName, request: HttpRequest): Route =
    def named(answer: => Answer): Route =
      if (name.packageName.toSeq :+ name.name).forall(EntityName.isValid) then
        Answer(elsewhere(caller)(answer))
      else Answer.refused(ApiError.InvalidName)
    concat(
      get(named(show(caller, name, request))),
      put(named(own(caller, name)(deploy(caller, name, request)))),
      delete(named(own(caller, name)(remove(caller, name))))
    )

  private def own(caller: Identity, name: ActionName)(answer: => Answer): Answer =
    if name.namespace == caller.namespace then answer
    else Future.successful(Left(ApiError.OtherNamespace))

  private def listOf(caller: Identity, owner: String, inPackage: String, request: HttpRequest): Answer =
    if !EntityName.isValid(inPackage) then Future.successful(Left(ApiError.InvalidName))
    else
      val found = blocking:
        open
          .find(caller.namespace, owner, inPackage)
          .flatMap(open.resolve(caller.namespace, _))
          .left
          .map(problem => ApiError.OfEntity(Unreachable(problem)))
      Refusable(found): resolved =>
        list(caller, resolved.actionPackage.namespace, Some(resolved.actionPackage.name), request)

  private def list(
      caller: Identity,
      owner: String,
      inPackage: Option[String],
      request: HttpRequest
  ): Answer =
    if owner != caller.namespace && inPackage.isEmpty then
      Future.successful(Left(ApiError.OtherNamespace))
    else
      EntityList("actions", request, blocking)(stored.count(owner, inPackage)): page =>
        val found = stored.list(owner, page.limit, page.skip, inPackage)
        ListedAnnotations.ofActions(found.iterator).map(views.summary)

  private def show(caller: Identity, name: ActionName, request: HttpRequest): Answer =
    Refusable(QueryParameters(request.uri.query()).flag("code", default = true)): code =>
      blocking.reading(actions.find(caller, name)).map:
        case Left(problem) => Left(ApiError.OfEntity(Unreachable(problem)))
        case Right(found) if code && found.definition.packageSize > 0 =>
          Right(codes(caller.namespace, found.definition, views.action(found)))
        case Right(found) => ok((if code then views.action(found) else views.bound(found)).asJson)

  private def remove(caller: Identity, name: ActionName): Answer =
    deploys.moving(caller):
      for
        _ <- notThroughBinding(name)
        definition <- definitions
          .remove(name.namespace, name.path)
          .toRight(ApiError.OfEntity(Unreachable(ActionProblem.NoSuchAction(name))))
        answer <- ok(views.action(definition).asJson)
      yield answer

  private def notThroughBinding(name: ActionName): Either[ApiError, Unit] = name.packageName match
    case None => Right(())
    case Some(inPackage) =>
      packages.find(name.namespace, inPackage) match
        case None => Left(ApiError.OfEntity(NoSuchPackage(inPackage)))
        case Some(found) if found.binding.isDefined => Left(ApiError.OfEntity(ThroughBinding(inPackage)))
        case Some(_) => Right(())

  private def deploy(caller: Identity, name: ActionName, request: HttpRequest): Answer =
    deploys(caller, request)(body.read(_, caller.limits))(program): (overwrite, change) =>
      store(caller, name, overwrite, change)

  private val program = ProgramDeploys.ProgramOf[ActionChange](
    _.exec.map(exec => exec.code -> exec.family),
    (change, code) => change.copy(exec = change.exec.map(_.copy(code = code)))
  )

  private def store(
      caller: Identity,
      name: ActionName,
      overwrite: Boolean,
      change: ActionChange
  ): Either[ApiError, HttpResponse] =
    for
      _ <- notThroughBinding(name)
      components <- change.exec match
        case Some(exec) if exec.family == KindFamily.Sequence =>
          sequences.resolve(caller, name, exec.components).left.map(p => ApiError.OfEntity(OfSequence(p)))
        case _ => Right(Vector.empty)
      now = Timestamp.now()
      edit = ActionEdit(name.namespace, name.path, change, components, overwrite, now)
      definition <- definitions
        .edit(name.namespace, name.path, change.exec.map(_.code.bytes), caller.limits)(edit(_))
        .left
        .map(ApiError.NotDeployed(name.path, _))
      shown = views.action(definition)
      answer <-
        if definition.packageSize > 0 then Right(codes(caller.namespace, definition, shown))
        else ok(shown.asJson)
    yield answer
