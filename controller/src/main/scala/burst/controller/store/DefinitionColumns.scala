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

/** The columns of a version of a definition (see the migrations), the same in both tables. */
private[store] object DefinitionColumns:
  /** All but the parameters, which may be long. */
  val Summary: SQLSyntax =
    sqls"namespace, name, revision, kind, package_id, package_size, updated, options, action"

  val Columns: SQLSyntax = sqls"$Summary, parameters, environment"

  /** Includes the secrets, which only the present version has. */
  val Present: SQLSyntax = sqls"$Columns, secrets"

  /** What a version counts towards its namespace's bytes. An empty object of variables is stored as two
    * bytes, which do not count, nor do those of an empty `action`.
    */
  val Bytes: SQLSyntax =
    sqls"package_size + OCTET_LENGTH(parameters) + OCTET_LENGTH(environment) + OCTET_LENGTH(action) - 4"

  /** What the present version counts, which has the secrets. */
  val PresentBytes: SQLSyntax = sqls"$Bytes + OCTET_LENGTH(secrets) - 2"

  /** Returns the same for a definition that is not stored yet. */
  def bytes(definition: Definition): Long =
    import definition.{environment, packageSize, parameters}
    val texts = Seq(parameters.asJson, environment.variables.asJson, environment.secrets.asJson)
    val action = Stored.free(actionText(definition.action)).length
    packageSize + texts.map(text => Stored.free(text.noSpaces).length.toLong).sum + action - 6

  /** Returns only the fields that differ from their defaults. */
  def actionText(fields: ActionFields): String =
    fields.asJsonObject.filter((name, value) => !NoAction(name).contains(value)).asJson.noSpaces

  private val NoAction = ActionFields().asJsonObject

  /** Reads a definition without its secrets. */
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
