package burst.controller.store

import burst.controller.definition.EntityVersion
import burst.controller.trigger.*
import burst.protocol.Timestamp
import io.circe.JsonObject
import io.circe.syntax.*
import scalikejdbc.*

/** Rules in any SQL database. */
final class JdbcRuleStore(database: Database)
    extends JdbcEntityStore[Rule, RuleChange](database, Collection.Rules, TriggerRows.RuleColumns),
      RuleStore:
  import TriggerRefusal.*
  import TriggerRows.{number, RuleColumns}

  protected def summary(row: WrappedResultSet): Rule = TriggerRows.rule(row)

  protected def read(namespace: String, name: String)(using DBSession): Option[Rule] =
    sql"SELECT $RuleColumns FROM trigger_rule WHERE namespace = $namespace AND name = $name".row(summary)

  protected def blank(namespace: String, name: String, change: RuleChange): Either[TriggerRefusal, Rule] =
    change.trigger
      .zip(change.action)
      .toRight(NoTriggerOrAction)
      .map: (trigger, action) =>
        Rule(
          namespace,
          name,
          "",
          publish = false,
          trigger,
          action,
          RuleStatus.Active,
          JsonObject.empty,
          Timestamp.Epoch
        )

  protected def changed(there: Rule, change: RuleChange, now: Timestamp): Rule = there.copy(
    version = change.version.getOrElse(EntityVersion.after(there.version)),
    publish = change.publish.getOrElse(there.publish),
    trigger = change.trigger.getOrElse(there.trigger),
    action = change.action.getOrElse(there.action),
    annotations = change.annotations.getOrElse(there.annotations),
    updated = now
  )

  def setStatus(namespace: String, name: String, status: RuleStatus): Either[TriggerRefusal, Unit] =
    database.write("changing a rule's status", Durability.Power):
      Collection.hold(database, namespace)
      for
        there <- read(namespace, name).toRight(NoSuchRule(name))
        // A rule that is inactive already stays so, even without its trigger.
        _ <- Either.cond(there.status == status || hasTrigger(there), (), TriggerGone(there.trigger))
      yield if there.status != status then attach(there.copy(status = status))

  protected def store(rule: Rule)(using DBSession): Either[TriggerRefusal, Rule] =
    Either.cond(hasTrigger(rule), rule, NoTriggerFor(rule.trigger)).map: rule =>
      attach(rule)
      rule

  private def hasTrigger(rule: Rule)(using DBSession): Boolean =
    sql"""SELECT 1 FROM event_trigger WHERE namespace = ${rule.namespace} AND name = ${rule.trigger}""".isAny

  /** Stores a rule with its status, which attaches it to its trigger. */
  private def attach(rule: Rule)(using DBSession): Unit =
    import rule.*
    sql"""
      INSERT INTO trigger_rule ($RuleColumns)
      VALUES ($namespace, $name, $version, ${number(publish)}, $trigger, ${action.path}, ${action.name},
        ${status.text}, ${annotations.asJson.noSpaces}, $updated)
      ON CONFLICT (namespace, name) DO UPDATE SET version = excluded.version, publish = excluded.publish,
        trigger_name = excluded.trigger_name, action_path = excluded.action_path,
        action_name = excluded.action_name, status = excluded.status, annotations = excluded.annotations,
        updated = excluded.updated""".update()
    val _ =
      sql"UPDATE event_trigger SET had_rules = 1 WHERE namespace = $namespace AND name = $trigger".update()
