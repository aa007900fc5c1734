package burst.controller.http

import burst.controller.definition.EntityName
import burst.controller.store.{Blocking, Identity, TriggerStore}
import burst.controller.trigger.Trigger
import io.circe.syntax.*
import io.circe.Json
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.ExecutionContext

/** `/triggers` of the caller's namespace. */
final class TriggersRoutes(
    triggers: TriggerStore,
    triggerBody: TriggerBody,
    intake: BodyIntake,
    deploys: RateLimiter,
    blocking: Blocking
)(using ExecutionContext):
  import TriggersRoutes.*

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
              get(Answer(found(name)(triggers.find(caller.namespace, name)))),
              delete(Answer(found(name)(triggers.delete(caller.namespace, name))))
            )
    )

  private def list(caller: Identity, request: HttpRequest): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted = query.page().flatMap(page => query.flag("count").map(page -> _))
    Refusable(wanted): (page, count) =>
      blocking:
        if count then
          ok(Json.obj("triggers" -> (triggers.count(caller.namespace) - page.skip).max(0).asJson))
        else
          val found = triggers.list(caller.namespace, page.limit, page.skip)
          val shown = ListedAnnotations.within(found.iterator)(_.annotations)((trigger, shown) =>
            trigger.copy(annotations = shown)
          )
          ok(Json.fromValues(shown.map(TriggerViews.summary)))

  private def found(name: String)(trigger: => Option[Trigger]): Answer =
    blocking(trigger).map:
      case Some(trigger) => ok(TriggerViews.trigger(trigger))
      case None => Left(ApiError.OfTrigger(TriggerProblem.NoSuchTrigger(name)))

  private def change(caller: Identity, name: String, request: HttpRequest): Answer =
    val perMinute = caller.limits.deploysPerMinute
    val wanted =
      for
        overwrite <- QueryParameters(request.uri.query()).flag("overwrite")
        _ <- deploys.take(caller.namespace, perMinute).left.map(ApiError.DeploysLimited(perMinute, _))
      yield overwrite
    Refusable(wanted): overwrite =>
      intake(caller.namespace, request): taken =>
        Refusable(taken.inTurn(triggerBody.trigger(_, caller.namespace))): change =>
          val now = System.currentTimeMillis() * 1000
          blocking:
            triggers
              .put(caller.namespace, name, overwrite, change, caller.limits.definitions, now)
              .left
              .map(refusal => ApiError.OfTrigger(TriggerProblem.NotStored(refusal)))
              .flatMap(trigger => ok(TriggerViews.trigger(trigger)))

object TriggersRoutes:
  private def ok(json: Json): Either[ApiError, HttpResponse] =
    Right(JsonMarshalling.response(StatusCodes.OK, json))
