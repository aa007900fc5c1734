package burst.controller.store

import burst.controller.trigger.*
import burst.protocol.Timestamp
import io.circe.JsonObject
import scalikejdbc.*

/** Rows of triggers and rules (see the migrations), shared by their stores. */
private[store] object TriggerRows:
  val TriggerSummary: SQLSyntax = sqls"namespace, name, version, publish, annotations, updated"
  val TriggerColumns: SQLSyntax = sqls"$TriggerSummary, parameters, had_rules"
  val RuleColumns: SQLSyntax =
    sqls"""namespace, name, version, publish, trigger_name, action_path, action_name, status, annotations,
      updated"""

  /** Reads a trigger without parameters and rules. */
  def summary(row: WrappedResultSet): Trigger = Trigger(
    namespace = row.string("namespace"),
    name = row.string("name"),
    version = row.string("version"),
    publish = row.int("publish") == 1,
    parameters = JsonObject.empty,
    annotations = Stored.json[JsonObject](row.string("annotations")),
    rules = None,
    updated = row.get[Timestamp]("updated")
  )

  /** Reads a trigger without its rules; an empty list stands for those it may have. */
  private def trigger(row: WrappedResultSet): Trigger = summary(row).copy(
    parameters = Stored.json[JsonObject](row.string("parameters")),
    rules = Option.when(row.int("had_rules") == 1)(Vector.empty)
  )

  def rule(row: WrappedResultSet): Rule = Rule(
    namespace = row.string("namespace"),
    name = row.string("name"),
    version = row.string("version"),
    publish = row.int("publish") == 1,
    trigger = row.string("trigger_name"),
    action = EntityRef(row.string("action_path"), row.string("action_name")),
    status = row.stringOpt("status").flatMap(RuleStatus.of).getOrElse(RuleStatus.Inactive),
    annotations = Stored.json[JsonObject](row.string("annotations")),
    updated = row.get[Timestamp]("updated")
  )

  def find(namespace: String, name: String)(using DBSession): Option[Trigger] =
    sql"SELECT $TriggerColumns FROM event_trigger WHERE namespace = $namespace AND name = $name".row(trigger)
      .map(found => found.copy(rules = found.rules.map(_ => attached(namespace, name))))

  private def attached(namespace: String, name: String)(using DBSession): Vector[AttachedRule] =
    sql"""SELECT $RuleColumns FROM trigger_rule
          WHERE namespace = $namespace AND trigger_name = $name AND status IS NOT NULL ORDER BY name"""
      .rows(rule)
      .map(rule => AttachedRule(rule.name, rule.action, rule.status))

  def number(publish: Boolean): Int = if publish then 1 else 0
