package burst.controller.definition

import burst.protocol.{DefinitionRef, PackageId}
import io.circe.JsonObject

/** A deployed work function. `updated` is in microseconds since the epoch; secrets are those of the present
  * version, whichever version this is.
  */
final case class Definition(
    namespace: String,
    name: String,
    version: String,
    kind: String,
    packageId: PackageId,
    packageSize: Long,
    options: FlareOptions,
    parameters: JsonObject,
    updated: Long,
    environment: SealedEnvironment = SealedEnvironment.Empty,
    action: ActionFields = ActionFields()
):
  /** Who runs it asks for the family: all versions of one are run alike. */
  def ref: DefinitionRef =
    DefinitionRef(namespace, name, version, packageId, kind.takeWhile(_ != ':'), action.main)

  def family: Option[KindFamily] = Kind.familyOf(kind)

  /** The version as OpenWhisk's clients see it. */
  def shownVersion: String = action.label.getOrElse(version)

  def all: Parameters = Parameters(parameters, action.initParameters)

object Definition:
  /** Environment variables of a program, secret ones among them, and bytes of their names and values. */
  val MostVariables: Int = 100
  val MostVariableBytes: Long = 64 * 1024
