package burst.controller.store

import scalikejdbc.*

/** How many of a namespace's things there are, and of how many bytes. */
private[store] final case class StoredUsage(count: Int, bytes: Long)

private[store] object StoredUsage:
  /** Present versions of definitions but that one. */
  def definitions(namespace: String, but: String = "")(using DBSession): StoredUsage =
    of(sqls"definition", DefinitionColumns.PresentBytes, namespace, but)

  /** Packages of actions but that one. */
  def packages(namespace: String, but: String = "")(using DBSession): StoredUsage =
    of(sqls"action_package", PackageColumns.Bytes, namespace, but)

  private def of(table: SQLSyntax, bytes: SQLSyntax, namespace: String, but: String)(using
      DBSession
  ): StoredUsage =
    sql"""SELECT COUNT(*) AS count, COALESCE(SUM($bytes), 0) AS bytes
          FROM $table WHERE namespace = $namespace AND name <> $but"""
      .row(row => StoredUsage(row.int("count"), row.long("bytes")))
      .getOrElse(StoredUsage(0, 0))
