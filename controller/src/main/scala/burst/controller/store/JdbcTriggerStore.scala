package burst.controller.store

import burst.controller.definition.EntityVersion
import burst.controller.trigger.*
import io.circe.JsonObject
import io.circe.syntax.*
import scalikejdbc.*

/** Triggers in any SQL database. */
final class JdbcTriggerStore(database: Database) extends TriggerStore:
  import TriggerRows.{number, TriggerSummary}

  def find(namespace: String, name: String): Option[Trigger] =
    database.read("reading a trigger")(TriggerRows.find(namespace, name))

  def list(namespace: String, limit: Int, skip: Int): Vector[Trigger] =
    database.read("listing triggers"):
      sql"""SELECT $TriggerSummary FROM event_trigger WHERE namespace = $namespace
            ORDER BY updated DESC, name LIMIT $limit OFFSET $skip"""
        .map(TriggerRows.summary)
        .collection[Vector]()

  def count(namespace: String): Int = database.read("counting triggers")(counted(namespace))

  def put(
      namespace: String,
      name: String,
      overwrite: Boolean,
      change: TriggerChange,
      most: Int,
      now: Long
  ): Either[TriggerRefusal, Trigger] =
    database.write("storing a trigger", Durability.Power):
      Collection.hold(database, namespace)
      TriggerRows.find(namespace, name) match
        case Some(_) if !overwrite => Left(TriggerRefusal.Exists(name))
        case Some(there) => Right(replace(there, change, now))
        case None =>
          for
            _ <- Collection
              .holder(namespace, name, Collection.Triggers)
              .map(other => TriggerRefusal.NameTaken(name, other.word))
              .toLeft(())
            _ <- Either.cond(counted(namespace) < most, (), TriggerRefusal.TooMany(most))
          yield create(namespace, name, change, now)

  def delete(namespace: String, name: String): Option[Trigger] =
    database.write("deleting a trigger", Durability.Power):
      Collection.hold(database, namespace)
      TriggerRows.find(namespace, name).map: there =>
        sql"""UPDATE trigger_rule SET status = NULL
              WHERE namespace = $namespace AND trigger_name = $name""".update()
        sql"DELETE FROM event_trigger WHERE namespace = $namespace AND name = $name".update()
        there

  private def counted(namespace: String)(using DBSession): Int =
    sql"SELECT COUNT(*) FROM event_trigger WHERE namespace = $namespace".map(_.int(1)).single().getOrElse(0)

  private def create(namespace: String, name: String, change: TriggerChange, now: Long)(using
      DBSession
  ): Trigger =
    val trigger = Trigger(
      namespace,
      name,
      change.version.getOrElse(EntityVersion.First),
      change.publish.getOrElse(false),
      change.parameters.getOrElse(JsonObject.empty),
      change.annotations.getOrElse(JsonObject.empty),
      rules = None,
      updated = now
    )
    sql"""INSERT INTO event_trigger (namespace, name, version, publish, parameters, annotations, updated)
          VALUES ($namespace, $name, ${trigger.version}, ${number(trigger.publish)},
            ${trigger.parameters.asJson.noSpaces}, ${trigger.annotations.asJson.noSpaces}, $now)""".update()
    trigger

  private def replace(there: Trigger, change: TriggerChange, now: Long)(using DBSession): Trigger =
    val next = there.copy(
      version = change.version.getOrElse(EntityVersion.after(there.version)),
      publish = change.publish.getOrElse(there.publish),
      parameters = change.parameters.getOrElse(there.parameters),
      annotations = change.annotations.getOrElse(there.annotations),
      updated = now
    )
    sql"""UPDATE event_trigger SET version = ${next.version}, publish = ${number(next.publish)},
            parameters = ${next.parameters.asJson.noSpaces},
            annotations = ${next.annotations.asJson.noSpaces}, updated = $now
          WHERE namespace = ${next.namespace} AND name = ${next.name}""".update()
    next
