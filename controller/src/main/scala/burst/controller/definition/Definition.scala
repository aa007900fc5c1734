package burst.controller.definition

import burst.protocol.{DefinitionRef, PackageId, Timestamp}
import io.circe.JsonObject
import io.circe.syntax.*

/** A deployed work function. Its secrets are those of the current version, whichever version this is. */
final case class Definition(
    namespace: String,
    name: String,
    version: String,
    kind: String,
    packageId: PackageId,
    packageSize: Long,
    options: FlareOptions,
    parameters: JsonObject,
    updated: Timestamp,
    environment: SealedEnvironment = SealedEnvironment.Empty,
    action: ActionFields = ActionFields()
):
  def ref: DefinitionRef =
    val image = action.image.filterNot(_ => isNative)
    DefinitionRef(
      namespace,
      name,
      version,
      packageId,
      runsAs,
      action.main,
      image,
      action.concurrency,
      action.logs
    )

  /** The kind that invokers receive. */
  private def runsAs: String = if isNative then KindFamily.Skeleton else kind

  /** Whether its image is the one that OpenWhisk uses for executables, which need none here. */
  private def isNative: Boolean =
    family.contains(KindFamily.Blackbox) && packageSize > 0 && action.image.exists(KindFamily.isSkeleton)

  def family: Option[KindFamily] = Kind.familyOf(kind)

  /** The version as OpenWhisk's clients see it. */
  def shownVersion: String = action.label.getOrElse(version)

  def isSequence: Boolean = Kind.isSequence(kind)

  /** Its own parameters. A sequence has none: no program would receive them. */
  def own: Parameters =
    if isSequence then Parameters.Empty else Parameters(parameters, action.initParameters)

  /** Its parameters, including those that the platform adds: a sequence's clients see its actions. */
  def all: Parameters =
    if isSequence then Parameters(JsonObject(Definition.Actions -> action.components.asJson)) else own

object Definition:
  private val Actions = "_actions"

  /** The most environment variables of a program, including secret ones, and the most bytes of their names
    * and values.
    */
  val MostVariables: Int = 100
  val MostVariableBytes: Long = 64 * 1024
