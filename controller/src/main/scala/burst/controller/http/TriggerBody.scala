package burst.controller.http

import burst.controller.action.ActionName
import burst.controller.json.JsonPieces
import burst.controller.trigger.{EntityRef, RuleChange, TriggerChange}
import io.circe.JsonObject
import org.apache.pekko.util.ByteString

/** A rule as a request sends it, with the name of its action, which is still to be looked up. */
final case class WantedRule(change: RuleChange, action: Option[ActionName])

/** Reads the bodies of requests about triggers and rules. Unknown fields are ignored. Pure. */
final class TriggerBody(pieces: JsonPieces):
  def trigger(bytes: ByteString): Either[ApiError, TriggerChange] =
    for
      body <- SplitBody.ofEntity(bytes, pieces)
      fields = Fields.of(body)
      version <- ActionBody.version(fields)
      publish <- fields.boolean("publish")
      parameters <- KeyValues.read(body, "parameters")
      annotations <- KeyValues.read(body, "annotations").map(_.map(_.values))
    yield TriggerChange(version, publish, parameters.map(_.values), annotations)

  def rule(bytes: ByteString, caller: String): Either[ApiError, WantedRule] =
    for
      body <- SplitBody.ofEntity(bytes, pieces)
      fields = Fields.of(body)
      version <- ActionBody.version(fields)
      publish <- fields.boolean("publish")
      annotations <- KeyValues.read(body, "annotations").map(_.map(_.values))
      trigger <- name(fields, "trigger", caller)
      own <- trigger.fold(Right(None))(triggerOf(_, caller).map(Some(_)))
      action <- name(fields, "action", caller)
    yield WantedRule(RuleChange(version, publish, own, action.map(ref), annotations), action)

  private def ref(name: ActionName): EntityRef =
    EntityRef((name.namespace +: name.packageName.toVector).mkString("/"), name.name)

  /** Returns a rule's trigger, which is in the same namespace, the caller's. */
  private def triggerOf(name: ActionName, caller: String): Either[ApiError, String] =
    if name.packageName.isDefined then Left(ApiError.OfEntity(EntityProblem.InvalidName("trigger")))
    else Either.cond(name.namespace == caller, name.name, ApiError.OtherNamespace)

  /** Reads a name: a string, or an object with `path` and `name`. */
  private def name(fields: Fields, field: String, caller: String): Either[ApiError, Option[ActionName]] =
    fields.json(field) match
      case None => Right(None)
      case Some(json) =>
        json.asString
          .orElse(json.asObject.flatMap(joined))
          .flatMap(ActionName.parse(_, caller))
          .toRight(ApiError.OfEntity(EntityProblem.InvalidName(field)))
          .map(Some(_))

  private def joined(ref: JsonObject): Option[String] =
    for
      path <- ref("path").flatMap(_.asString)
      name <- ref("name").flatMap(_.asString)
    yield s"/${path.stripPrefix("/")}/$name"
