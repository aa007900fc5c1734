package burst.controller.http

import burst.controller.definition.{Parameters, VariableName}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}

/** Parameters and annotations as OpenWhisk's clients send and receive them: arrays of `{"key","value"}`, some
  * with `"init":true`.
  */
object KeyValues:
  def read(fields: JsonObject, field: String): Either[ApiError, Option[Parameters]] =
    fields(field).filterNot(_.isNull) match
      case None => Right(None)
      case Some(json) =>
        val pairs = json.asArray.map(_.map(pair)).filter(_.forall(_.isDefined)).map(_.flatten)
        pairs.toRight(ApiError.OfEntity(EntityProblem.BadPairs(field))).map: found =>
          val values = JsonObject.fromIterable(found.map((name, value, _) => name -> value))
          // The last entry for a name counts.
          val init = found.map((name, _, init) => name -> init).toMap.filter(_._2).keySet
          Some(Parameters(values, init))

  /** Reads the parameters of an action or a package, of which a program may have some in its environment. */
  def parameters(fields: JsonObject): Either[ApiError, Option[Parameters]] =
    read(fields, "parameters").flatMap: found =>
      found.flatMap(unfit).map(ApiError.OfEntity(_)).toLeft(found)

  /** Returns what is wrong with a parameter that is for the environment, if anything is. */
  private def unfit(parameters: Parameters): Option[EntityProblem] =
    val values = parameters.init.iterator.map(name => name -> parameters.values(name))
    values.collectFirst:
      case (name, _) if !VariableName.canBeHandedOn(name) => EntityProblem.NoVariable(name)
      case (name, Some(value)) if value.asString.exists(_.contains('\u0000')) =>
        EntityProblem.NoVariablesValue(name)

  private def pair(json: Json): Option[(String, Json, Boolean)] =
    for
      fields <- json.asObject
      name <- fields("key").flatMap(_.asString)
    yield (name, fields("value").getOrElse(Json.Null), fields("init").flatMap(_.asBoolean).contains(true))

  def show(parameters: Parameters): Json = Json.fromValues(parameters.values.toIterable.map: (name, value) =>
    val pair = JsonObject("key" -> name.asJson, "value" -> value)
    Json.fromJsonObject(if parameters.init(name) then pair.add("init", Json.True) else pair))

  def show(values: JsonObject): Json = show(Parameters(values))
