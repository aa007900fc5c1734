package burst.controller.store

import scalikejdbc.*

/** How many of a namespace's things there are, and of how many bytes. */
private[store] final case class UsedRoom(count: Int, bytes: Long)

private[store] object UsedRoom:
  /** Present versions of definitions but that one. */
  def definitions(namespace: String, but: String = "")(using DBSession): UsedRoom =
    of(sqls"definition", DefinitionColumns.PresentBytes, namespace, but)

  /** Packages of actions but that one. */
  def packages(namespace: String, but: String = "")(using DBSession): UsedRoom =
    of(sqls"action_package", PackageColumns.Bytes, namespace, but)

  private def of(table: SQLSyntax, bytes: SQLSyntax, namespace: String, but: String)(using
      DBSession
  ): UsedRoom =
    sql"""SELECT COUNT(*) AS count, COALESCE(SUM($bytes), 0) AS bytes
          FROM $table WHERE namespace = $namespace AND name <> $but"""
      .row(row => UsedRoom(row.int("count"), row.long("bytes")))
      .getOrElse(UsedRoom(0, 0))
