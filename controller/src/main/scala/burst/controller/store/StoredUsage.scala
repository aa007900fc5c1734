package burst.controller.store

import scalikejdbc.*

/** How many entities a namespace has, and how many bytes they take. */
private[store] final case class StoredUsage(count: Int, bytes: Long)

private[store] object StoredUsage:
  /** Counts the present versions of definitions, except that one. */
  def definitions(namespace: String, but: String = "")(using DBSession): StoredUsage =
    of(sqls"definition", DefinitionColumns.PresentBytes, namespace, but)

  /** Counts packages of actions, except that one. */
  def packages(namespace: String, but: String = "")(using DBSession): StoredUsage =
    of(sqls"action_package", PackageColumns.Bytes, namespace, but)

  private def of(table: SQLSyntax, bytes: SQLSyntax, namespace: String, but: String)(using
      DBSession
  ): StoredUsage =
    sql"""SELECT COUNT(*) AS count, COALESCE(SUM($bytes), 0) AS bytes
          FROM $table WHERE namespace = $namespace AND name <> $but"""
      .row(row => StoredUsage(row.int("count"), row.long("bytes")))
      .getOrElse(StoredUsage(0, 0))
