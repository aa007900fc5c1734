package burst.controller.store

import burst.controller.definition.{
  ActionFields,
  Definition,
  FlareOptions,
  SealedEnvironment,
  SealedSecret,
  Version
}
import burst.protocol.Timestamp
import io.circe.JsonObject
import io.circe.syntax.*
import scalikejdbc.*

/** How a version of a definition stands in a row (see the migrations), in both tables alike. */
private[store] object DefinitionColumns:
  /** All but the parameters, which may be long. */
  val Summary: SQLSyntax =
    sqls"namespace, name, revision, kind, package_id, package_size, updated, options, action"

  val Columns: SQLSyntax = sqls"$Summary, parameters, environment"

  /** With the secrets, which are the present version's. */
  val Present: SQLSyntax = sqls"$Columns, secrets"

  /** What a version counts for among its namespace's bytes: no variables are two braces, and so is what only
    * an action has.
    */
  val Bytes: SQLSyntax =
    sqls"package_size + OCTET_LENGTH(parameters) + OCTET_LENGTH(environment) + OCTET_LENGTH(action) - 4"

  /** What the present one does, which has the secrets. */
  val PresentBytes: SQLSyntax = sqls"$Bytes + OCTET_LENGTH(secrets) - 2"

  /** The same, of one that is not stored yet. */
  def bytes(definition: Definition): Long =
    import definition.{environment, packageSize, parameters}
    val texts = Seq(parameters.asJson, environment.variables.asJson, environment.secrets.asJson)
    val action = Stored.free(actionText(definition.action)).length
    packageSize + texts.map(text => Stored.free(text.noSpaces).length.toLong).sum + action - 6

  /** Only what is not as it is without being said. */
  def actionText(fields: ActionFields): String =
    fields.asJsonObject.filter((name, value) => !NoAction(name).contains(value)).asJson.noSpaces

  private val NoAction = ActionFields().asJsonObject

  /** But for the secrets. */
  def whole(row: WrappedResultSet): Definition =
    val variables = Stored.json[Map[String, String]](row.string("environment"))
    definition(row, Stored.json[JsonObject](row.string("parameters")))
      .copy(environment = SealedEnvironment(variables, Vector.empty))

  def present(row: WrappedResultSet): Definition =
    val definition = whole(row)
    val secrets = Stored.json[Vector[SealedSecret]](row.string("secrets"))
    definition.copy(environment = definition.environment.under(secrets))

  def definition(row: WrappedResultSet, parameters: JsonObject): Definition = Definition(
    namespace = row.string("namespace"),
    name = row.string("name"),
    version = Version.of(row.int("revision")),
    kind = row.string("kind"),
    packageId = Stored.packageId(row.string("package_id")),
    packageSize = row.long("package_size"),
    options = Stored.json[FlareOptions](row.string("options")),
    parameters = parameters,
    updated = row.get[Timestamp]("updated"),
    action = Stored.json[ActionFields](row.string("action"))
  )
