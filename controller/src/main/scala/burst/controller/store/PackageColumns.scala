package burst.controller.store

import burst.controller.definition.{ActionPackage, PackageName, Parameters}
import burst.protocol.Timestamp
import io.circe.JsonObject
import scalikejdbc.*

/** The columns of a package of actions. */
private[store] object PackageColumns:
  /** All but the parameters, which may be long. */
  val Summary: SQLSyntax =
    sqls"namespace, name, version, publish, bound_namespace, bound_name, annotations, updated"

  val Whole: SQLSyntax = sqls"$Summary, parameters, init"

  /** What a package counts towards its namespace's bytes. */
  val Bytes: SQLSyntax = sqls"OCTET_LENGTH(parameters) + OCTET_LENGTH(annotations)"

  def find(namespace: String, name: String)(using DBSession): Option[ActionPackage] =
    sql"SELECT $Whole FROM action_package WHERE namespace = $namespace AND name = $name".row(whole)

  def whole(row: WrappedResultSet): ActionPackage = summary(row).copy(parameters =
    Parameters(
      Stored.json[JsonObject](row.string("parameters")),
      Stored.json[Set[String]](row.string("init"))
    )
  )

  def summary(row: WrappedResultSet): ActionPackage = ActionPackage(
    row.string("namespace"),
    row.string("name"),
    row.string("version"),
    row.int("publish") == 1,
    row.stringOpt("bound_namespace").zip(row.stringOpt("bound_name")).map(PackageName(_, _)),
    Parameters.Empty,
    Stored.json[JsonObject](row.string("annotations")),
    row.get[Timestamp]("updated")
  )
