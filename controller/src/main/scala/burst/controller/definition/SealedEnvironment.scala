package burst.controller.definition

import io.circe.{Codec, JsonObject}

/** A secret as it is stored: encrypted by the key of this id, for one name of one definition. */
final case class SealedSecret(name: String, keyId: String, text: String) derives Codec.AsObject:
  override def toString: String = s"SealedSecret($name)"

/** Environment variables of a definition's program, of which some are still sealed. */
final case class SealedEnvironment(variables: Map[String, String], secrets: Vector[SealedSecret])
    derives Codec.AsObject:
  def isEmpty: Boolean = variables.isEmpty && secrets.isEmpty

  /** With these secrets, which stand above variables of their names. */
  def under(secrets: Vector[SealedSecret]): SealedEnvironment =
    SealedEnvironment(variables -- secrets.map(_.name), secrets)

  /** With the parameters that are for the start of the program: strings as they are, all else as JSON.
    * Earlier versions stored some that cannot be there.
    */
  def started(parameters: JsonObject): SealedEnvironment =
    val more = parameters.toIterable.collect:
      case (name, value) if VariableName.canBeHandedOn(name) =>
        name -> value.asString.getOrElse(value.noSpaces)
    copy(variables = variables ++ more)

object SealedEnvironment:
  val Empty: SealedEnvironment = SealedEnvironment(Map.empty, Vector.empty)

/** What a deploy says of variables: those that are to be in place of all there are, and secrets that are
  * added, replaced or removed. A name is of the kind that it was given last.
  */
final case class VariableChanges(
    variables: Option[Map[String, String]] = None,
    secrets: Vector[SealedSecret] = Vector.empty,
    removed: Set[String] = Set.empty
):
  def over(there: SealedEnvironment): SealedEnvironment =
    val named = secrets.map(_.name).toSet
    val gone = named ++ removed ++ variables.fold(Set.empty)(_.keySet)
    SealedEnvironment(
      variables.getOrElse(there.variables) -- named,
      (there.secrets.filterNot(secret => gone(secret.name)) ++ secrets).sortBy(_.name)
    )
