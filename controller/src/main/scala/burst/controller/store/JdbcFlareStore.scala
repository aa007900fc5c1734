package burst.controller.store

import burst.controller.flare.*
import burst.protocol.{Failure, FlareId, Inputs, LogStream}
import io.circe.syntax.*
import io.circe.Json
import java.nio.charset.StandardCharsets.UTF_8
import scalikejdbc.*

/** Flares and what they leave, in any SQL database. `logLimit` is in bytes, `phaseLimit` in marks, both per
  * flare.
  */
final class JdbcFlareStore(database: Database, logLimit: Long, phaseLimit: Long) extends FlareStore:
  import JdbcFlareStore.Live

  /** Names this store in the flares it may write. */
  private val writer = java.util.UUID.randomUUID.toString

  def together(work: => Unit): Unit = database.together("storing a flare's changes")(work)

  def insert(flare: Flare): Unit =
    database.write("storing a flare"):
      // Whoever takes over waits for this to be committed, and finds it.
      val present =
        sql"SELECT writer FROM scheduler_epoch ${database.sharedLock}".map(_.stringOpt("writer")).single()
      if present.flatten.exists(_ != writer) then throw Superseded()
      sql"""
        INSERT INTO flare (id, namespace, name, package_id, state, created, ended, request, progress, parts,
          writer, is_group)
        VALUES (${flare.id.value}, ${flare.namespace}, ${flare.request.definition.name},
          ${flare.request.definition.packageId.value}, ${FlareColumns.state(flare.state)}, ${flare.created},
          ${flare.ended}, ${FlareColumns.request(flare)}, ${FlareColumns.progress(flare)},
          ${FlareColumns.parts(flare)}, $writer, ${if flare.request.isGroup then 1 else 0})""".update()
      if !flare.state.isFinal then
        val inputs = flare.request.inputs.asJson.noSpaces
        sql"INSERT INTO flare_inputs (flare_id, inputs) VALUES (${flare.id.value}, $inputs)".update()

  def update(flare: Flare): Unit =
    val (state, progress, parts) =
      (FlareColumns.state(flare.state), FlareColumns.progress(flare), FlareColumns.parts(flare))
    database.write("updating a flare"):
      val updated = sql"""
        UPDATE flare SET state = $state, ended = ${flare.ended}, progress = $progress, parts = $parts
        WHERE id = ${flare.id.value} AND writer = $writer AND state IN ($Live)""".update()
      if updated == 1 then
        if flare.state.isFinal then
          sql"DELETE FROM flare_inputs WHERE flare_id = ${flare.id.value}".update()
      else
        sql"""SELECT 1 FROM flare WHERE id = ${flare.id.value} AND writer = $writer
              AND state = $state AND ended = ${flare.ended} AND progress = $progress AND parts = $parts"""
          .map(_.int(1))
          .single()
          .getOrElse(throw FlareTaken(flare.id))

  def find(id: FlareId): Option[Flare] =
    database.read("reading a flare"):
      sql"SELECT id, state, created, ended, request, progress, parts FROM flare WHERE id = ${id.value}"
        .map(row => flare(row, parts = row.stringOpt("parts"), inputs = None))
        .single()

  def inputs(id: FlareId): Option[Inputs] =
    database.read("reading inputs"):
      sql"SELECT inputs FROM flare_inputs WHERE flare_id = ${id.value}"
        .map(row => Stored.json[Inputs](row.string("inputs")))
        .single()

  def list(
      namespace: Option[String],
      name: Option[String],
      state: Option[FlareState],
      limit: Int,
      skip: Int,
      groups: Boolean
  ): Vector[Flare] =
    val kind = if groups then 1 else 0
    val ofNamespace = namespace.fold(sqls"")(n => sqls"AND namespace = $n")
    val ofName = name.fold(sqls"")(n => sqls"AND name = $n")
    val inState = state.fold(sqls"")(s => sqls"AND state = ${FlareColumns.state(s)}")
    database.read("listing flares"):
      sql"""SELECT id, state, created, ended, request, progress FROM flare
            WHERE is_group = $kind $ofNamespace $ofName $inState
            ORDER BY created DESC, id DESC LIMIT $limit OFFSET $skip"""
        .map(flare(_, parts = None, inputs = None))
        .collection[Vector]()

  def takeUnfinished(): Vector[Flare] =
    database.write("taking over unfinished flares"):
      sql"""INSERT INTO scheduler_epoch (id, epoch, writer) VALUES (1, 0, $writer)
            ON CONFLICT (id) DO UPDATE SET writer = excluded.writer""".update()
      sql"UPDATE flare SET writer = $writer WHERE state IN ($Live)".update()
      sql"""SELECT id, state, created, ended, request, progress, parts, inputs
            FROM flare LEFT JOIN flare_inputs ON flare_id = id
            WHERE state IN ($Live) ORDER BY created, id"""
        .map(row => flare(row, row.stringOpt("parts"), row.stringOpt("inputs")))
        .collection[Vector]()

  def addResults(id: FlareId, results: Vector[WorkerResult]): Unit =
    if results.nonEmpty then
      database.write("storing results"):
        if !owned(id) then throw FlareTaken(id)
        // One row per worker, the last: no statement may change a row twice.
        val rows = results.groupMapReduce(_.worker)(identity)((_, last) => last).values.toVector.map:
          result =>
            Seq[Any](
              id.value,
              result.worker,
              result.output.map(_.noSpaces).orNull,
              result.error.map(_.asJson.noSpaces).orNull
            )
        sql"""
          INSERT INTO flare_result (flare_id, worker, output, error) VALUES (?, ?, ?, ?)
          ON CONFLICT (flare_id, worker) DO UPDATE SET output = excluded.output, error = excluded.error"""
          .batch(rows*)
          .apply()

  def results(id: FlareId): Vector[WorkerResult] =
    database.read("reading results"):
      sql"SELECT worker, output, error FROM flare_result WHERE flare_id = ${id.value} ORDER BY worker"
        .map: row =>
          WorkerResult(
            row.int("worker"),
            row.stringOpt("output").map(Stored.json[Json]),
            row.stringOpt("error").map(Stored.json[Failure])
          )
        .collection[Vector]()

  def addLogs(id: FlareId, lines: Vector[LogLine]): Unit =
    if lines.nonEmpty then
      database.write("storing logs"):
        own(id, sqls"log_bytes, log_truncated")(row => (row.long("log_bytes"), row.int("log_truncated") != 0))
          .foreach: (before, truncated) =>
            // Each line's end within the log; kept are those that end within the limit. Once something was
            // dropped nothing follows, so that a log has no holes.
            val ends = lines.scanLeft(before)((sum, line) => sum + bytes(line)).tail
            val kept = if truncated then 0 else ends.count(_ <= logLimit)
            sql"""UPDATE flare SET log_bytes = ${if kept == 0 then before else ends(kept - 1)},
                  log_truncated = ${if kept < lines.size then 1 else 0} WHERE id = ${id.value}""".update()
            val rows = lines
              .take(kept)
              .map(l =>
                Seq[Any](
                  id.value,
                  l.worker.map(Int.box).orNull,
                  l.pack,
                  stream(l.stream),
                  l.at,
                  Stored.free(l.line)
                )
              )
            if kept > 0 then
              sql"INSERT INTO flare_log (flare_id, worker, pack, stream, at, line) VALUES (?, ?, ?, ?, ?, ?)"
                .batch(rows*)
                .apply()

  def logs(id: FlareId, worker: Option[Int]): StoredLogs =
    val ofWorker = worker.fold(sqls"")(w => sqls"AND worker = $w")
    database.read("reading logs"):
      val truncated = sql"SELECT log_truncated FROM flare WHERE id = ${id.value}".map(_.int(1)).single()
      val lines =
        sql"""SELECT worker, pack, stream, at, line FROM flare_log
              WHERE flare_id = ${id.value} $ofWorker ORDER BY id"""
          .map: row =>
            LogLine(
              row.intOpt("worker"),
              row.int("pack"),
              Stored.json[LogStream](Json.fromString(row.string("stream")).noSpaces),
              row.long("at"),
              Stored.free(row, "line")
            )
          .collection[Vector]()
      StoredLogs(lines, truncated.exists(_ != 0))

  def addPhases(id: FlareId, marks: Vector[PhaseMark]): Unit =
    if marks.nonEmpty then
      database.write("storing phases"):
        own(id, sqls"phase_count")(_.long("phase_count"))
          .foreach: before =>
            val kept = marks.take((phaseLimit - before).max(0).min(marks.size).toInt)
            if kept.nonEmpty then
              sql"UPDATE flare SET phase_count = ${before + kept.size} WHERE id = ${id.value}".update()
              sql"INSERT INTO flare_phase (flare_id, worker, name, at) VALUES (?, ?, ?, ?)"
                .batch(kept.map(mark => Seq(id.value, mark.worker, Stored.free(mark.name), mark.at))*)
                .apply()

  def phases(id: FlareId): Vector[PhaseMark] =
    database.read("reading phases"):
      sql"SELECT worker, name, at FROM flare_phase WHERE flare_id = ${id.value} ORDER BY worker, at, id"
        .map(row => PhaseMark(row.int("worker"), Stored.free(row, "name"), row.long("at")))
        .collection[Vector]()

  def clearAttempt(id: FlareId): Unit =
    database.write("clearing an attempt"):
      if !owned(id) then throw FlareTaken(id)
      sql"DELETE FROM flare_result WHERE flare_id = ${id.value}".update()
      sql"DELETE FROM flare_log WHERE flare_id = ${id.value}".update()
      sql"DELETE FROM flare_phase WHERE flare_id = ${id.value}".update()
      sql"UPDATE flare SET log_bytes = 0, log_truncated = 0, phase_count = 0 WHERE id = ${id.value}".update()

  def countByState(): Map[FlareState, Int] =
    database.read("counting flares"):
      sql"SELECT state, COUNT(*) AS n FROM flare WHERE is_group = 0 GROUP BY state"
        .map(row => FlareColumns.state(row.string("state")) -> row.int("n"))
        .iterable()
        .toMap

  def prune(keep: Int, endedBefore: Long, batch: Int): Int =
    database.write("deleting old flares"):
      // The end of the newest that is one too many; all that ended no later go.
      val beyond =
        sql"SELECT ended FROM flare WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT 1 OFFSET $keep"
          .map(_.long(1))
          .single()
      val until = (endedBefore - 1).max(beyond.getOrElse(Long.MinValue))
      sql"""DELETE FROM flare WHERE id IN (
              SELECT id FROM flare WHERE ended <= $until ORDER BY ended LIMIT $batch)""".update()

  /** Columns of a flare that nobody else can change meanwhile; nothing when there is no such flare. */
  private def own[A](id: FlareId, columns: SQLSyntax)(read: WrappedResultSet => A)(using
      DBSession
  ): Option[A] =
    sql"SELECT writer, $columns FROM flare WHERE id = ${id.value} ${database.rowLock}"
      .map(row => if row.string("writer") == writer then read(row) else throw FlareTaken(id))
      .single()

  private def owned(id: FlareId)(using DBSession): Boolean = own(id, sqls"state")(_ => ()).isDefined

  private def bytes(line: LogLine): Long = line.line.getBytes(UTF_8).length + 1L

  private def stream(stream: LogStream): String = stream.asJson.asString.getOrElse(stream.toString)

  private def flare(row: WrappedResultSet, parts: Option[String], inputs: Option[String]): Flare =
    FlareColumns.flare(
      Stored.flareId(row.string("id")),
      FlareColumns.state(row.string("state")),
      row.long("created"),
      row.longOpt("ended"),
      row.string("request"),
      row.string("progress"),
      parts,
      inputs
    )

private[store] object JdbcFlareStore:
  /** States of flares that have not ended, as they are stored. */
  val Live: Vector[String] = FlareState.values.toVector.filterNot(_.isFinal).map(FlareColumns.state)
