package burst.controller.store

import burst.controller.definition.EntityVersion
import burst.controller.trigger.*
import burst.protocol.Timestamp
import io.circe.JsonObject
import io.circe.syntax.*
import scalikejdbc.*

/** Triggers in any SQL database. */
final class JdbcTriggerStore(database: Database)
    extends JdbcEntityStore[Trigger, TriggerChange](
      database,
      Collection.Triggers,
      TriggerRows.TriggerSummary
    ):
  protected def summary(row: WrappedResultSet): Trigger = TriggerRows.summary(row)

  protected def read(namespace: String, name: String)(using DBSession): Option[Trigger] =
    TriggerRows.find(namespace, name)

  protected def blank(
      namespace: String,
      name: String,
      change: TriggerChange
  ): Either[TriggerRefusal, Trigger] =
    val blank = Trigger(
      namespace,
      name,
      "",
      publish = false,
      JsonObject.empty,
      JsonObject.empty,
      None,
      updated = Timestamp.Epoch
    )
    // OpenWhisk does not check this for an existing trigger.
    Either.cond(change.hasFeedName, blank, TriggerRefusal.InvalidFeed)

  protected def changed(there: Trigger, change: TriggerChange, now: Timestamp): Trigger = there.copy(
    version = change.version.getOrElse(EntityVersion.after(there.version)),
    publish = change.publish.getOrElse(there.publish),
    parameters = change.parameters.getOrElse(there.parameters),
    annotations = change.annotations.getOrElse(there.annotations),
    updated = now
  )

  protected def store(trigger: Trigger)(using DBSession): Right[TriggerRefusal, Trigger] =
    import trigger.*
    sql"""INSERT INTO event_trigger (namespace, name, version, publish, parameters, annotations, updated)
          VALUES ($namespace, $name, $version, ${TriggerRows.number(publish)},
            ${parameters.asJson.noSpaces}, ${annotations.asJson.noSpaces}, $updated)
          ON CONFLICT (namespace, name) DO UPDATE SET version = excluded.version, publish = excluded.publish,
            parameters = excluded.parameters, annotations = excluded.annotations, updated = excluded.updated
       """.update()
    Right(trigger)

  override protected def leave(namespace: String, name: String)(using DBSession): Unit =
    val _ = sql"""UPDATE trigger_rule SET status = NULL
                  WHERE namespace = $namespace AND trigger_name = $name""".update()
