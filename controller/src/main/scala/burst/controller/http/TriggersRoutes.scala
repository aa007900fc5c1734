package burst.controller.http

import burst.controller.definition.EntityName
import burst.controller.store.{Blocking, Identity, TriggerStore}
import burst.controller.trigger.Trigger
import burst.protocol.Timestamp
import org.apache.pekko.http.scaladsl.model.HttpRequest
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

/** `/triggers` of the caller's namespace. */
final class TriggersRoutes(
    triggers: TriggerStore,
    triggerBody: TriggerBody,
    deploys: Deploys,
    elsewhere: OtherCollections,
    blocking: Blocking
)(using ExecutionContext):
  import JsonMarshalling.ok

  def route(caller: Identity): Route =
    concat(
      (pathPrefix("triggers") & pathEndOrSingleSlash & get):
        extractRequest(request => Answer(list(caller, request)))
      ,
      (pathPrefix("triggers" / Segment) & pathEndOrSingleSlash): name =>
        if !EntityName.isValid(name) then Answer.refused(ApiError.InvalidName)
        else
          extractRequest: request =>
            concat(
              put(Answer(change(caller, name, request))),
              get(Answer(elsewhere(caller)(found(name)(triggers.find(caller.namespace, name))))),
              delete(Answer(elsewhere(caller)(found(name)(triggers.delete(caller.namespace, name)))))
            )
    )

  private def list(caller: Identity, request: HttpRequest): Answer =
    EntityList("triggers", request, blocking)(triggers.count(caller.namespace)): page =>
      val found = triggers.list(caller.namespace, page.limit, page.skip)
      ListedAnnotations
        .within(found.iterator)(_.annotations)((trigger, shown) => trigger.copy(annotations = shown))
        .map(TriggerViews.summary)

  private def found(name: String)(trigger: => Option[Trigger]): Answer =
    blocking(trigger).map:
      case Some(trigger) => ok(TriggerViews.trigger(trigger))
      case None => Left(ApiError.OfTrigger(TriggerProblem.NoSuchTrigger(name)))

  private def change(caller: Identity, name: String, request: HttpRequest): Answer =
    deploys(caller, request): (overwrite, taken) =>
      Refusable(taken.inTurn(triggerBody.trigger(_))): change =>
        val now = Timestamp.now()
        blocking:
          triggers
            .put(caller.namespace, name, overwrite, change, caller.limits.definitions, now)
            .left
            .map(refusal => ApiError.OfTrigger(TriggerProblem.NotStored(refusal)))
            .flatMap(trigger => ok(TriggerViews.trigger(trigger)))
