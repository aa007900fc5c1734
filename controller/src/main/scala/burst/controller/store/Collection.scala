package burst.controller.store

import scalikejdbc.*

/** The entities of a namespace that share one space of names, each with its table, in which it has its
  * `namespace` and `name`.
  */
enum Collection(val singular: String, private[store] val table: SQLSyntax):
  case Definitions extends Collection("action", sqls"definition")
  case Packages extends Collection("package", sqls"action_package")
  case Triggers extends Collection("trigger", sqls"event_trigger")
  case Rules extends Collection("rule", sqls"trigger_rule")

  def plural: String = s"${singular}s"

  /** With its article. */
  def one: String = if this == Definitions then s"an $singular" else s"a $singular"

object Collection:
  /** Which other collection has something of that name. To be asked while the namespace is held, or two could
    * take the name at once.
    */
  private[store] def holder(namespace: String, name: String, own: Collection)(using
      DBSession
  ): Option[Collection] =
    values.filter(_ != own).find: other =>
      sql"SELECT 1 FROM ${other.table} WHERE namespace = $namespace AND name = $name".isAny

  /** Of one namespace one change at a time. */
  private[store] def hold(database: Database, namespace: String)(using DBSession): Unit =
    val _ = sql"SELECT 1 FROM namespace WHERE name = $namespace ${database.rowLock}".isAny

/** What is called how in a namespace. */
trait EntityNames:
  /** Which other collection has something of that name. Blocks. */
  def holder(namespace: String, name: String, own: Collection): Option[Collection]

private[store] final class JdbcEntityNames(database: Database) extends EntityNames:
  def holder(namespace: String, name: String, own: Collection): Option[Collection] =
    database.read("looking for a name")(Collection.holder(namespace, name, own))
