package burst.controller.http

import burst.controller.action.{ActionProblem, Actions}
import burst.controller.definition.EntityName
import burst.controller.store.{Blocking, Identity, RuleStore}
import burst.controller.trigger.{Rule, RuleStatus, TriggerRefusal}
import burst.protocol.Timestamp
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

/** `/rules` of the caller's namespace. */
final class RulesRoutes(
    rules: RuleStore,
    actions: Actions,
    triggerBody: TriggerBody,
    body: RequestBody,
    deploys: Deploys,
    elsewhere: OtherCollections,
    blocking: Blocking
)(using ExecutionContext):
  import JsonMarshalling.ok
  import RulesRoutes.*

  def route(caller: Identity): Route =
    concat(
      (pathPrefix("rules") & pathEndOrSingleSlash & get):
        extractRequest(request => Answer(list(caller, request)))
      ,
      (pathPrefix("rules" / Segment) & pathEndOrSingleSlash): name =>
        if !EntityName.isValid(name) then Answer.refused(ApiError.InvalidName)
        else
          extractRequest: request =>
            concat(
              put(Answer(change(caller, name, request))),
              get(Answer(elsewhere(caller)(found(name)(rules.find(caller.namespace, name))))),
              delete(Answer(elsewhere(caller)(found(name)(remove(caller, name))))),
              post(Answer(elsewhere(caller)(setStatus(caller, name, request))))
            )
    )

  private def list(caller: Identity, request: HttpRequest): Answer =
    EntityList("rules", request, blocking)(rules.count(caller.namespace)): page =>
      val found = rules.list(caller.namespace, page.limit, page.skip)
      ListedAnnotations
        .within(found.iterator)(_.annotations)((rule, shown) => rule.copy(annotations = shown))
        .map(TriggerViews.summary)

  private def found(name: String)(rule: => Option[Rule]): Answer =
    blocking(rule).map:
      case Some(rule) => ok(TriggerViews.rule(rule))
      case None => Left(notStored(TriggerRefusal.NoSuchRule(name)))

  /** Deletes a rule and returns it as inactive. */
  private def remove(caller: Identity, name: String): Option[Rule] =
    rules.delete(caller.namespace, name).map(_.copy(status = RuleStatus.Inactive))

  private def change(caller: Identity, name: String, request: HttpRequest): Answer =
    deploys(caller, request): (overwrite, taken) =>
      Refusable(taken.inTurn(triggerBody.rule(_, caller.namespace))): wanted =>
        blocking(store(caller, name, overwrite, wanted))

  private def store(
      caller: Identity,
      name: String,
      overwrite: Boolean,
      wanted: WantedRule
  ): Either[ApiError, HttpResponse] =
    val now = Timestamp.now()
    for
      _ <- reachable(caller, wanted)
      rule <- rules
        .put(caller.namespace, name, overwrite, wanted.change, caller.limits.definitions, now)
        .left
        .map(notStored)
      answer <- ok(TriggerViews.rule(rule))
    yield answer

  private def reachable(caller: Identity, wanted: WantedRule): Either[ApiError, Unit] = wanted.action match
    case None => Right(())
    case Some(name) =>
      actions.find(caller, name) match
        case Right(_) => Right(())
        case Left(ActionProblem.NotEntitled) =>
          Left(ApiError.OfEntity(EntityProblem.Unreachable(ActionProblem.NotEntitled)))
        case Left(_) => Left(ApiError.OfTrigger(TriggerProblem.NoSuchAction(name.qualified)))

  private def setStatus(caller: Identity, name: String, request: HttpRequest): Answer =
    Refusable(body.fields(request)): fields =>
      blocking:
        for
          status <- fields
            .json("status")
            .flatMap(_.asString)
            .flatMap(RuleStatus.of)
            .toRight(ApiError.OfTrigger(TriggerProblem.NoStatus))
          _ <- rules.setStatus(caller.namespace, name, status).left.map(notStored)
        yield HttpResponse(StatusCodes.OK)

object RulesRoutes:
  private def notStored(refusal: TriggerRefusal): ApiError =
    ApiError.OfTrigger(TriggerProblem.NotStored(refusal))
