package burst.controller.store

import burst.controller.definition.EntityVersion
import burst.controller.trigger.*
import io.circe.JsonObject
import io.circe.syntax.*
import scalikejdbc.*

/** Rules in any SQL database. */
final class JdbcRuleStore(database: Database) extends RuleStore:
  import TriggerRows.{number, RuleColumns}

  def find(namespace: String, name: String): Option[Rule] =
    database.read("reading a rule")(TriggerRows.findRule(namespace, name))

  def list(namespace: String, limit: Int, skip: Int): Vector[Rule] =
    database.read("listing rules"):
      sql"""SELECT $RuleColumns FROM trigger_rule WHERE namespace = $namespace
            ORDER BY updated DESC, name LIMIT $limit OFFSET $skip"""
        .map(TriggerRows.rule)
        .collection[Vector]()

  def count(namespace: String): Int = database.read("counting rules")(counted(namespace))

  def put(
      namespace: String,
      name: String,
      overwrite: Boolean,
      change: RuleChange,
      most: Int,
      now: Long
  ): Either[TriggerRefusal, Rule] =
    database.write("storing a rule", Durability.Power):
      Collection.hold(database, namespace)
      val wanted = TriggerRows.findRule(namespace, name) match
        case Some(_) if !overwrite => Left(TriggerRefusal.Exists(name))
        case Some(there) => Right(changed(there, change, now))
        case None =>
          for
            _ <- Collection
              .holder(namespace, name, Collection.Rules)
              .map(other => TriggerRefusal.NameTaken(name, other.word))
              .toLeft(())
            _ <- Either.cond(counted(namespace) < most, (), TriggerRefusal.TooMany(most))
            rule <- created(namespace, name, change, now)
          yield rule
      for
        rule <- wanted
        _ <- Either.cond(hasTrigger(rule), (), TriggerRefusal.NoTriggerFor(rule.trigger))
      yield
        store(rule)
        attach(rule)
        rule

  def setStatus(namespace: String, name: String, status: RuleStatus): Either[TriggerRefusal, Unit] =
    database.write("changing a rule's status", Durability.Power):
      Collection.hold(database, namespace)
      for
        there <- TriggerRows.findRule(namespace, name).toRight(TriggerRefusal.NoSuchRule(name))
        // What is inactive already stays so, whatever it hangs on.
        _ <- Either.cond(
          there.status == status || hasTrigger(there),
          (),
          TriggerRefusal.TriggerGone(there.trigger)
        )
      yield
        if there.status != status then
          store(there.copy(status = status))
          attach(there)

  def delete(namespace: String, name: String): Option[Rule] =
    database.write("deleting a rule", Durability.Power):
      Collection.hold(database, namespace)
      TriggerRows.findRule(namespace, name).map: there =>
        sql"DELETE FROM trigger_rule WHERE namespace = $namespace AND name = $name".update()
        there

  private def counted(namespace: String)(using DBSession): Int =
    sql"SELECT COUNT(*) FROM trigger_rule WHERE namespace = $namespace".map(_.int(1)).single().getOrElse(0)

  private def created(
      namespace: String,
      name: String,
      change: RuleChange,
      now: Long
  ): Either[TriggerRefusal, Rule] =
    change.trigger
      .zip(change.action)
      .toRight(TriggerRefusal.NoTriggerOrAction)
      .map: (trigger, action) =>
        Rule(
          namespace,
          name,
          change.version.getOrElse(EntityVersion.First),
          change.publish.getOrElse(false),
          trigger,
          action,
          RuleStatus.Active,
          change.annotations.getOrElse(JsonObject.empty),
          now
        )

  private def changed(there: Rule, change: RuleChange, now: Long): Rule = there.copy(
    version = change.version.getOrElse(EntityVersion.after(there.version)),
    publish = change.publish.getOrElse(there.publish),
    trigger = change.trigger.getOrElse(there.trigger),
    action = change.action.getOrElse(there.action),
    annotations = change.annotations.getOrElse(there.annotations),
    updated = now
  )

  private def hasTrigger(rule: Rule)(using DBSession): Boolean =
    TriggerRows.find(rule.namespace, rule.trigger).isDefined

  /** With its status, by which it is attached to its trigger. */
  private def store(rule: Rule)(using DBSession): Unit =
    import rule.*
    val notes = annotations.asJson.noSpaces
    val _ = sql"""
      INSERT INTO trigger_rule ($RuleColumns)
      VALUES ($namespace, $name, $version, ${number(publish)}, $trigger, ${action.path}, ${action.name},
        ${status.text}, $notes, $updated)
      ON CONFLICT (namespace, name) DO UPDATE SET version = $version, publish = ${number(publish)},
        trigger_name = $trigger, action_path = ${action.path}, action_name = ${action.name},
        status = ${status.text}, annotations = $notes, updated = $updated""".update()

  private def attach(rule: Rule)(using DBSession): Unit =
    val _ = sql"""UPDATE event_trigger SET had_rules = 1
                  WHERE namespace = ${rule.namespace} AND name = ${rule.trigger}""".update()
