package burst.controller.http

import burst.controller.action.{ActionName, Actions}
import burst.controller.definition.EntityName
import burst.controller.firing.Firing
import burst.controller.http.BodyIntake.Growing
import burst.controller.json.Defaults
import burst.controller.limits.MinuteCounts
import burst.controller.store.{Identity, StoreException, StoreRetry, TriggerStore}
import burst.controller.trigger.{RuleStatus, Trigger}
import burst.protocol.FlareId
import io.circe.syntax.*
import io.circe.{Json, JsonObject}
import org.apache.pekko.http.scaladsl.model.headers.RawHeader
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.concurrent.ExecutionContext

/** `POST /triggers/NAME`: fires a trigger.
  *
  * @param patience
  *   retries a store that fails once actions may have begun: a client that receives an error fires again, and
  *   everything runs twice
  */
final class FireRoutes(
    triggers: TriggerStore,
    actions: Actions,
    firing: Firing,
    fires: MinuteCounts,
    body: RequestBody,
    intake: BodyIntake,
    patience: StoreRetry,
    elsewhere: OtherCollections
)(using ExecutionContext):
  import FireRoutes.*

  def route(caller: Identity): Route =
    (path("triggers" / Segment ~ Slash.?) & post): name =>
      if !EntityName.isValid(name) then Answer.refused(ApiError.InvalidName)
      else extractRequest(request => Answer(elsewhere(caller)(fire(caller, name, request))))

  private def fire(caller: Identity, name: String, request: HttpRequest): Answer =
    val limited = fires
      .take(caller.namespace, caller.limits.firesPerMinute)
      .left
      .map(used => ApiError.OfTrigger(TriggerProblem.FiresLimited(used)))
    Refusable(limited): _ =>
      intake(caller.namespace, request, EntityFields.MostParameters): taken =>
        taken.growing(wanted(caller, name, _)): (trigger, payload) =>
          firing
            .fire(caller, trigger, payload, headers(request), RequestTraces.origin(request), patience)
            .map(id => Right(id.fold(HttpResponse(StatusCodes.NoContent))(fired)))

  private def wanted(
      caller: Identity,
      name: String,
      bytes: ByteString
  ): Either[ApiError, Growing[(Trigger, JsonObject)]] =
    for
      trigger <- triggers.find(caller.namespace, name).toRight(noSuch(name))
      payload <- payload(body, bytes)
    yield Growing.later(bytes, parameters(caller, trigger))((trigger, payload))

  /** Returns how many bytes of parameters go under the payload, over the actions that are begun at once: the
    * first ones, as each has to be read.
    */
  private def parameters(caller: Identity, trigger: Trigger): Long =
    val begun =
      trigger.rules.getOrElse(Vector.empty).filter(_.status == RuleStatus.Active).take(Firing.AtOnce)
    val names = begun.flatMap(rule => ActionName.parse(rule.action.qualified, caller.namespace))
    val own = Defaults.of(trigger.parameters).length.toLong * names.length
    try
      val lengths = names.distinct.map(name =>
        name.qualified -> actions.find(caller, name).fold(_ => 0, _.growth).toLong
      ).toMap
      own + names.map(name => lengths(name.qualified)).sum
    catch
      // The firing itself retries the store.
      case _: StoreException => own

object FireRoutes:
  private val MostPatience = 20.seconds

  /** How long to retry, once for reading a trigger's actions and once for storing its record: both end before
    * the request times out.
    */
  def patience(requestTimeout: Duration): FiniteDuration = requestTimeout / 4 match
    case quarter: FiniteDuration => quarter.min(MostPatience)
    case _ => MostPatience

  private def noSuch(name: String): ApiError = ApiError.OfTrigger(TriggerProblem.NoSuchTrigger(name))

  private def fired(id: FlareId): HttpResponse =
    JsonMarshalling
      .response(StatusCodes.Accepted, Json.obj("activationId" -> id.value.asJson))
      .addHeader(RawHeader(InvokeRoutes.IdHeader, id.value))

  /** Reads the payload: an object, or an empty one if there is no body. */
  private def payload(body: RequestBody, bytes: ByteString): Either[ApiError, JsonObject] =
    val limits =
      JsonLimits(depth = EntityFields.MostDepth, values = EntityFields.MostValues, number = Int.MaxValue)
    if bytes.isEmpty then Right(JsonObject.empty)
    else
      for
        _ <- JsonCheck.problem(bytes, limits).map(ApiError.JsonRefused(_)).toLeft(())
        json <- body.parse(bytes)
        fields <- json.asObject.toRight(ApiError.WrongType("", "a JSON object"))
      yield fields

  /** Returns the headers that the actions receive, without credentials: whoever has those could act as the
    * caller.
    */
  private def headers(request: HttpRequest): JsonObject =
    val told = request.headers.filter: header =>
      header.renderInRequests && !Secret(header.lowercaseName)
    JsonObject.fromIterable(told.map(header => header.lowercaseName -> header.value.asJson))

  private val Secret = Set("authorization", "proxy-authorization", "cookie")
