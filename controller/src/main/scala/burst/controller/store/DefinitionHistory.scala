package burst.controller.store

import burst.controller.definition.Definition
import burst.protocol.PackageId
import scalikejdbc.*

/** The versions that were replaced. To be used in transactions that have locked the definition. */
private[store] final class DefinitionHistory(versions: Int):
  import DefinitionColumns.*

  /** Adds the present version, which is about to be replaced. */
  def add(namespace: String, name: String)(using DBSession): Unit =
    val _ = sql"""INSERT INTO definition_history ($Columns)
                  SELECT $Columns FROM definition WHERE namespace = $namespace AND name = $name""".update()

  /** Returns the version before the present one. */
  def last(namespace: String, name: String)(using DBSession): Option[Definition] =
    sql"""SELECT $Columns FROM definition_history WHERE namespace = $namespace AND name = $name
          ORDER BY revision DESC LIMIT 1""".row(whole)

  def packages(namespace: String, name: String)(using DBSession): Set[PackageId] =
    packages(sqls"namespace = $namespace AND name = $name")

  /** Drops the definition's versions beyond the number that is kept, and the namespace's oldest ones beyond
    * `room` bytes. Returns their packages.
    */
  def trim(namespace: String, name: String, revision: Int, room: Long)(using DBSession): Set[PackageId] =
    val beyondNumber =
      drop(sqls"namespace = $namespace AND name = $name AND revision <= ${revision - versions}")
    val bytes =
      sql"SELECT COALESCE(SUM($Bytes), 0) FROM definition_history WHERE namespace = $namespace".count
    if bytes <= room then beyondNumber
    else
      beyondNumber ++ drop(sqls"""namespace = $namespace AND (name, revision) IN (
        SELECT name, revision FROM (
          SELECT name, revision,
            SUM($Bytes) OVER (ORDER BY updated DESC, name, revision DESC ROWS UNBOUNDED PRECEDING) AS total
          FROM definition_history WHERE namespace = $namespace) AS kept
        WHERE total > $room)""")

  private def drop(which: SQLSyntax)(using DBSession): Set[PackageId] =
    val released = packages(which)
    if released.nonEmpty then sql"DELETE FROM definition_history WHERE $which".update()
    released

  private def packages(which: SQLSyntax)(using DBSession): Set[PackageId] =
    sql"SELECT DISTINCT package_id FROM definition_history WHERE $which"
      .rows(row => Stored.packageId(row.string("package_id")))
      .toSet
