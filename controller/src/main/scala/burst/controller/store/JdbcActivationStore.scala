package burst.controller.store

import burst.protocol.{FlareId, JsonText, Timestamp}
import io.circe.syntax.*
import io.circe.{Codec, JsonObject}
import scala.concurrent.duration.{Duration, FiniteDuration}
import scalikejdbc.*

/** Records of invocations, in the table of flares. */
final class JdbcActivationStore(database: Database, keys: SubmissionKeys) extends ActivationStore:
  import JdbcActivationStore.*

  def find(namespace: String, id: FlareId): Option[StoredActivation] =
    database.read("reading an activation"):
      sql"""SELECT $columns, parts, r.output FROM flare LEFT JOIN flare_result r ON r.flare_id = id AND r.worker = 0
            WHERE id = ${id.value} AND namespace = $namespace AND begun IS NOT NULL""".row(stored)

  def findNear(namespace: String, id: FlareId): Vector[StoredActivation] =
    val prefix = id.value.dropRight(8)
    database.read("reading an activation"):
      sql"""SELECT $columns, parts, r.output FROM flare LEFT JOIN flare_result r ON r.flare_id = id AND r.worker = 0
            WHERE id >= ${prefix + "00000000"} AND id <= ${prefix + "ffffffff"} AND namespace = $namespace
              AND begun IS NOT NULL AND is_record = 0 LIMIT 10""".rows(stored)

  def list(namespace: String, filter: ActivationFilter, limit: Int, skip: Int): Vector[StoredActivation] =
    database.read("listing activations"):
      // Skipped rows are counted in an index, not read. Neither are columns that nobody will see: outputs
      // without an error, packs of large flares, logs of records.
      sql"""SELECT $columns,
              CASE WHEN is_record = 0 AND LENGTH(parts) < $MostParts THEN parts END AS parts,
              CASE WHEN is_record = 0 AND (r.output LIKE '%"error"%' OR r.output NOT LIKE '{%')
                THEN r.output END AS output
            FROM (SELECT id AS listed FROM flare WHERE ${those(namespace, filter)}
                  ORDER BY begun DESC, id DESC LIMIT $limit OFFSET $skip) AS page
              JOIN flare ON id = listed LEFT JOIN flare_result r ON r.flare_id = id AND r.worker = 0
            ORDER BY begun DESC, id DESC""".rows(stored)

  def count(namespace: String, filter: ActivationFilter): Long =
    database.read("counting activations"):
      sql"SELECT COUNT(*) FROM flare WHERE ${those(namespace, filter)}".count

  private def those(namespace: String, filter: ActivationFilter): SQLSyntax =
    val named = filter.name.fold(sqls"")(name => sqls"AND name = $name")
    val since = filter.since.fold(sqls"")(time => sqls"AND begun >= $time")
    val upto = filter.upto.fold(sqls"")(time => sqls"AND begun <= $time")
    sqls"namespace = $namespace AND begun IS NOT NULL $named $since $upto"

  def open(record: OpenRecord, recordLease: FiniteDuration): Unit =
    database.write("storing an activation")(insert(record, recordLease))

  private def insert(record: OpenRecord, recordLease: FiniteDuration)(using DBSession): Unit =
    val fields = record.fields.asJson.noSpaces
    val submission = record.submission
    // Without a submission it may have arrived already: a caller whose connection broke cannot know.
    val taken = if submission.isEmpty then sqls"ON CONFLICT (id) DO NOTHING" else SubmissionKeys.Free
    val noLogs = Logs(Vector.empty).asJson.noSpaces
    def add() = sql"""
      INSERT INTO flare (id, namespace, name, package_id, state, created, request, progress, parts, writer,
        is_record, lease, stored_bytes, submission_key, submission_digest)
      VALUES (${record.id.value}, ${record.namespace}, ${record.name}, '', $Open, ${record.created}, '{}', $fields,
        $noLogs, '', 1, ${database.now} + ${recordLease.toMicros}, ${fields.length},
        ${submission.map(_.key)}, ${submission.map(_.digest)})
      $taken""".update()
    if submission.isEmpty then
      val _ = add()
    else keys.taking(record.namespace, submission)(add())

  def areOpen(ids: Vector[FlareId]): Set[FlareId] =
    ids.grouped(500).flatMap { some =>
      database.read("looking for activations"):
        sql"SELECT id FROM flare WHERE id IN (${some.map(_.value)}) AND lease IS NOT NULL"
          .rows(row => Stored.flareId(row.string("id")))
    }.toSet

  def renew(ids: Vector[FlareId], recordLease: FiniteDuration): Unit =
    ids.grouped(500).foreach: some =>
      database.write("renewing activations"):
        sql"""UPDATE flare SET lease = ${database.now} + ${recordLease.toMicros}
              WHERE id IN (${some.map(_.value)}) AND lease IS NOT NULL""".update()

  def close(record: OpenRecord, ended: Timestamp, result: JsonText, logs: Vector[String]): Unit =
    val (fields, lines) = (record.fields.asJson.noSpaces, Logs(logs).asJson.noSpaces)
    database.write("ending an activation"):
      def update(): Int = sql"""
        UPDATE flare SET state = $Closed, ended = $ended, begun = ${record.created}, progress = $fields,
          parts = $lines, lease = NULL, stored_bytes = ${fields.length + lines.length + result.length}
        WHERE id = ${record.id.value} AND is_record = 1""".update()
      if update() == 0 then
        insert(record, Duration.Zero)
        val _ = update()
      val _ = sql"""INSERT INTO flare_result (flare_id, worker, output) VALUES (${record.id.value}, 0,
                      ${result.bytes.utf8String})
                    ON CONFLICT (flare_id, worker) DO UPDATE SET output = excluded.output""".update()

  def endAbandoned(over: FiniteDuration, now: Timestamp): Int =
    database.write("ending abandoned activations"):
      sql"""UPDATE flare SET state = $Abandoned, ended = $now, begun = created, lease = NULL
            WHERE lease IS NOT NULL AND lease < ${database.now} - ${over.toMicros}""".update()

  private def stored(row: WrappedResultSet): StoredActivation =
    val isRecord = row.int("is_record") != 0
    val parts = row.stringOpt("parts")
    StoredActivation(
      Stored.flareId(row.string("id")),
      row.string("namespace"),
      if isRecord then Left(Stored.json[JsonObject](row.string("progress")))
      else Right(FlareColumns.flare(row, parts)),
      row.get[Option[Timestamp]]("ended").filter(_ => row.string("state") == Abandoned),
      ResultRows.output(row),
      if isRecord then parts.fold(Vector.empty)(Stored.json[Logs](_).lines) else Vector.empty
    )

private object JdbcActivationStore:
  final case class Logs(lines: Vector[String]) derives Codec.AsObject

  val Open = "open"
  val Closed = "closed"
  val Abandoned = "abandoned"

  /** More than any flare of one worker has. */
  val MostParts = 16 * 1024

  val columns: SQLSyntax =
    sqls"id, namespace, state, created, ended, request, progress, is_record, r.output_kept"
