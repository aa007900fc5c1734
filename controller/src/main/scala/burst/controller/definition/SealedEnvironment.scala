package burst.controller.definition

import io.circe.{Codec, JsonObject}

/** A secret as it is stored: encrypted with the key of this id, for one name in one definition. */
final case class SealedSecret(name: String, keyId: String, text: String) derives Codec.AsObject:
  override def toString: String = s"SealedSecret($name)"

/** Environment variables of a definition's program, some of which are still sealed. */
final case class SealedEnvironment(variables: Map[String, String], secrets: Vector[SealedSecret])
    derives Codec.AsObject:
  def isEmpty: Boolean = variables.isEmpty && secrets.isEmpty

  /** Returns these variables with `secrets`, which replace variables of the same names. */
  def under(secrets: Vector[SealedSecret]): SealedEnvironment =
    SealedEnvironment(variables -- secrets.map(_.name), secrets)

  /** Adds the parameters for the start of the program: strings unchanged, all else as JSON. Leaves out names
    * that cannot be environment variables, some of which earlier versions stored.
    */
  def started(parameters: JsonObject): SealedEnvironment =
    val more = parameters.toIterable.collect:
      case (name, value) if VariableName.canBeHandedOn(name) =>
        name -> value.asString.getOrElse(value.noSpaces)
    copy(variables = variables ++ more)

object SealedEnvironment:
  val Empty: SealedEnvironment = SealedEnvironment(Map.empty, Vector.empty)

/** The changes that a deploy makes to variables: new ones that replace all existing ones, and secrets that
  * are added, replaced or removed. A name becomes a variable or a secret as it was last set.
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
