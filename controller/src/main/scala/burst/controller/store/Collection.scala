package burst.controller.store

import scalikejdbc.*

/** The kinds of entities of a namespace that share one space of names. Each has a table with columns
  * `namespace` and `name`.
  */
enum Collection(val singular: String, private[store] val table: SQLSyntax):
  case Definitions extends Collection("action", sqls"definition")
  case Packages extends Collection("package", sqls"action_package")
  case Triggers extends Collection("trigger", sqls"event_trigger")
  case Rules extends Collection("rule", sqls"trigger_rule")

  def plural: String = s"${singular}s"

  /** The singular with its article. */
  def one: String = if this == Definitions then s"an $singular" else s"a $singular"

object Collection:
  /** Returns which other collection has an entity of that name. To be called while the namespace is locked,
    * or two could take the name at once.
    */
  private[store] def holder(namespace: String, name: String, own: Collection)(using
      DBSession
  ): Option[Collection] =
    values.filter(_ != own).find: other =>
      sql"SELECT 1 FROM ${other.table} WHERE namespace = $namespace AND name = $name".isAny

  /** Locks a namespace until the transaction ends: one change at a time. */
  private[store] def hold(database: Database, namespace: String)(using DBSession): Unit =
    val _ = sql"SELECT 1 FROM namespace WHERE name = $namespace ${database.rowLock}".isAny

/** The names in use in a namespace. */
trait EntityNames:
  /** Returns which other collection has an entity of that name. Blocks. */
  def holder(namespace: String, name: String, own: Collection): Option[Collection]

private[store] final class JdbcEntityNames(database: Database) extends EntityNames:
  def holder(namespace: String, name: String, own: Collection): Option[Collection] =
    database.read("looking for a name")(Collection.holder(namespace, name, own))
