package burst.controller.store

import burst.controller.alarm.{Alarm, Schedule}
import burst.protocol.Timestamp
import io.circe.JsonObject
import io.circe.syntax.*
import java.time.Instant
import scalikejdbc.*

/** Alarms in any SQL database. */
final class JdbcAlarmStore(database: Database) extends AlarmStore:
  import JdbcAlarmStore.*

  def find(namespace: String, trigger: String): Option[Alarm] =
    database.read("reading an alarm"):
      sql"SELECT $Columns FROM alarm WHERE namespace = $namespace AND trigger_name = $trigger".row(read)

  def create(alarm: Alarm): Either[AlarmRefusal, Unit] =
    import alarm.{namespace, trigger}
    database.write("storing an alarm", Durability.Power):
      val held = sql"""SELECT 1 FROM event_trigger WHERE namespace = $namespace AND name = $trigger
                       ${database.sharedLock}""".isAny
      if !held then Left(AlarmRefusal.NoTrigger)
      else
        val (due, changed) = (alarm.due.map(Timestamp.of), Timestamp.of(alarm.changed))
        val stored = sql"""
          INSERT INTO alarm ($Columns)
          VALUES ($namespace, $trigger, ${alarm.schedule.asJson.noSpaces}, ${alarm.payload.asJson.noSpaces},
            $due, ${alarm.remaining}, ${alarm.reason}, $changed)
          ON CONFLICT (namespace, trigger_name) DO NOTHING""".update()
        Either.cond(stored == 1, (), AlarmRefusal.Exists)

  def due(now: Instant, most: Int, but: Set[String]): Vector[Alarm] =
    val others = if but.isEmpty then sqls"" else sqls"AND namespace NOT IN (${but.toVector})"
    val present = Timestamp.of(now)
    database.read("looking for alarms"):
      sql"SELECT $Columns FROM alarm WHERE due <= $present $others ORDER BY due LIMIT $most".rows(read)

  def replace(present: Alarm, next: Alarm): Boolean =
    val isSame = present.due.fold(sqls"due IS NULL")(due => sqls"due = ${Timestamp.of(due)}")
    // Survives a power failure, or an alarm that has fired would fire again.
    database.write("changing an alarm", Durability.Power):
      sql"""UPDATE alarm SET schedule = ${next.schedule.asJson.noSpaces},
              payload = ${next.payload.asJson.noSpaces}, due = ${next.due.map(Timestamp.of)},
              remaining = ${next.remaining}, reason = ${next.reason}, changed = ${Timestamp.of(next.changed)}
            WHERE namespace = ${present.namespace} AND trigger_name = ${present.trigger}
              AND changed = ${Timestamp.of(present.changed)} AND $isSame""".update() == 1

  def delete(namespace: String, trigger: String): Unit =
    database.write("deleting an alarm", Durability.Power):
      val _ = sql"DELETE FROM alarm WHERE namespace = $namespace AND trigger_name = $trigger".update()

private object JdbcAlarmStore:
  private val Columns: SQLSyntax =
    sqls"namespace, trigger_name, schedule, payload, due, remaining, reason, changed"

  private def read(row: WrappedResultSet): Alarm = Alarm(
    namespace = row.string("namespace"),
    trigger = row.string("trigger_name"),
    schedule = Stored.json[Schedule](row.string("schedule")),
    payload = Stored.json[JsonObject](row.string("payload")),
    due = row.get[Option[Timestamp]]("due").map(_.instant),
    remaining = row.longOpt("remaining"),
    reason = row.stringOpt("reason"),
    changed = row.get[Timestamp]("changed").instant
  )
