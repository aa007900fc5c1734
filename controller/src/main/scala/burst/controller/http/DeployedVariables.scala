package burst.controller.http

import burst.controller.definition.{VariableChanges, VariableName}
import burst.controller.secrets.{DefinitionName, Secrets}
import io.circe.{Json, JsonObject}

/** The environment variables that a deploy sets for its program: all that are not secret, and secrets by
  * name; a secret without a value is to be removed. Values are never shown.
  */
final case class DeployedVariables(
    environment: Option[Map[String, String]],
    secrets: Map[String, Option[String]]
):
  override def toString: String = "DeployedVariables(…)"

  def seal(definition: DefinitionName, by: Secrets): Either[ApiError, VariableChanges] =
    by.seal(definition, secrets.collect { case (name, Some(value)) => name -> value })
      .map(VariableChanges(environment, _, secrets.collect { case (name, None) => name }.toSet))
      .toRight(ApiError.NoSecretsKey)

object DeployedVariables:
  import ApiError.*

  def read(fields: Fields): Either[ApiError, DeployedVariables] =
    for
      environment <- fields.objectAt("environment")
      secrets <- fields.objectAt("secrets")
      plain <- each("environment", environment.getOrElse(JsonObject.empty))(text)
      sealable <- each("secrets", secrets.getOrElse(JsonObject.empty)): value =>
        if value.isNull then Some(None) else text(value).map(Some(_))
      _ <- plain.keys.find(sealable.contains).map(VariableTwice(_)).toLeft(())
    yield DeployedVariables(environment.map(_ => plain), sealable)

  private def each[A](field: String, values: JsonObject)(
      read: Json => Option[A]
  ): Either[ApiError, Map[String, A]] =
    values.toVector.foldLeft[Either[ApiError, Map[String, A]]](Right(Map.empty)):
      case (sofar, (name, value)) =>
        for
          others <- sofar
          path = s"$field.${Fields.shortened(name)}"
          _ <- Either.cond(VariableName.isValid(name), (), InvalidVariable(path))
          value <- read(value).toRight(WrongType(path, "a string without NUL"))
        yield others + (name -> value)

  // The kernel ends a value at a NUL.
  private def text(value: Json): Option[String] = value.asString.filterNot(_.contains('\u0000'))
