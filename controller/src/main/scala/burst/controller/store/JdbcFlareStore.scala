package burst.controller.store

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.definition.SealedEnvironment
import burst.controller.flare.*
import burst.protocol.{Failure, FlareId, Inputs, Timestamp}
import java.nio.file.NoSuchFileException
import scala.concurrent.{ExecutionContext, Future}
import scala.util.Try
import scalikejdbc.*

/** Flares and what they leave behind, in any SQL database. What is too large for it is in blobs, of which it
  * has the names. `logLimit` is in bytes, `phaseLimit` in marks, both per flare.
  */
final class JdbcFlareStore(
    database: Database,
    blobs: FlareBlobStore,
    packages: PackageIndex,
    logLimit: Long,
    phaseLimit: Long,
    keys: SubmissionKeys
) extends FlareStore:
  import FlareColumns.flare
  import JdbcFlareStore.*

  /** Identifies this store in the flares it may write. */
  private val writer = java.util.UUID.randomUUID.toString

  private val logs = LogTable(database, blobs, logLimit)

  private val writes = FlareWrites(database, packages, keys, logs, phaseLimit, writer)

  private val shared = database.sharing[FlareChange, Boolean](_.weight)(write)

  def write(change: FlareChange)(threads: ExecutionContext): Future[Boolean] = shared(threads)(change)

  def write(change: FlareChange): Boolean = write(Vector(change)).forall(_.get)

  /** Writes all of them in one transaction, or none. */
  private[store] def write(changes: Vector[FlareChange]): Vector[Try[Boolean]] = writes(changes)

  def find(id: FlareId): Option[Flare] =
    database.read("reading a flare"):
      sql"""SELECT id, state, created, ended, request, progress, parts FROM flare
            WHERE id = ${id.value} AND is_record = 0"""
        .row(row => flare(row, row.stringOpt("parts")))

  def submitted(namespace: String, key: String): Option[Submitted] =
    database.read("looking for a submission")(keys.find(namespace, key))

  def attempt(id: FlareId): Option[Int] =
    database.read("reading a flare's attempt"):
      sql"SELECT progress FROM flare WHERE id = ${id.value}"
        .row(row => FlareColumns.attempt(row.string("progress")))

  def inputs(id: FlareId): Option[Inputs] =
    val row = database.read("reading inputs"):
      sql"SELECT inputs, kept FROM flare_inputs WHERE flare_id = ${id.value}"
        .row(row => (row.string("inputs"), row.longOpt("kept")))
    row.flatMap:
      case (text, None) => Some(Stored.inputs(text))
      // The flare may end meanwhile, which deletes its inputs.
      case _ =>
        try Some(InputsFile.decode(blobs.load(id, BlobName.Inputs)))
        catch case _: NoSuchFileException => None

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
            WHERE is_group = $kind AND is_record = 0 $ofNamespace $ofName $inState
            ORDER BY created DESC, id DESC LIMIT $limit OFFSET $skip"""
        .rows(flare(_, parts = None))

  def takeUnfinished(): Vector[Flare] =
    database.write("taking over unfinished flares"):
      sql"""INSERT INTO scheduler_epoch (id, epoch, writer) VALUES (1, 0, $writer)
            ON CONFLICT (id) DO UPDATE SET writer = excluded.writer""".update()
      // From here on all writers of flares wait for this transaction, which has waited for earlier ones.
      sql"UPDATE flare SET writer = $writer WHERE state IN ($Live)".update()
      live(sqls"")

  def unfinished(ids: Vector[FlareId]): Vector[Flare] =
    ids.grouped(500).flatMap(some =>
      database.read("looking for unfinished flares"):
        live(sqls"AND writer = $writer AND id IN (${some.map(_.value)})")
    ).toVector

  private def live(those: SQLSyntax)(using DBSession): Vector[Flare] =
    sql"""SELECT id, state, created, ended, request, progress, parts, environment,
            COALESCE(kept, LENGTH(inputs)) AS input_length
          FROM flare LEFT JOIN flare_inputs ON flare_id = id
          WHERE state IN ($Live) $those ORDER BY created, id"""
      .rows: row =>
        val inputs = Inputs.OutOfLine(row.longOpt("input_length").getOrElse(0L))
        val environment =
          row.stringOpt("environment").fold(SealedEnvironment.Empty)(Stored.json[SealedEnvironment])
        val found = flare(row, row.stringOpt("parts"), inputs)
        found.copy(request = found.request.copy(environment = environment))

  def results(id: FlareId, from: Int, until: Int): Vector[WorkerResult] =
    database.read("reading results"):
      sql"""SELECT worker, output, output_kept, error FROM flare_result
            WHERE flare_id = ${id.value} AND worker >= $from AND worker < $until ORDER BY worker"""
        .rows: row =>
          val error = row.stringOpt("error").map(Stored.json[Failure])
          WorkerResult(row.int("worker"), ResultRows.output(row), error)

  def logExtent(id: FlareId): LogExtent = logs.extent(id)

  def logPart(id: FlareId, from: Long, until: Long): Option[LogPart] = logs.part(id, from, until)

  def phases(id: FlareId): Vector[PhaseMark] =
    database.read("reading phases"):
      sql"SELECT worker, name, at FROM flare_phase WHERE flare_id = ${id.value} ORDER BY worker, at, id"
        .rows(row => PhaseMark(row.int("worker"), Stored.free(row, "name"), row.get[Timestamp]("at")))

  def clearAttempt(id: FlareId): Unit =
    database.write("clearing an attempt"):
      val own =
        sql"SELECT writer FROM flare WHERE id = ${id.value} ${database.rowLock}".row(_.string("writer"))
      if !own.contains(writer) then throw FlareTaken(id)
      sql"DELETE FROM flare_result WHERE flare_id = ${id.value}".update()
      logs.clear(id)
      sql"DELETE FROM flare_phase WHERE flare_id = ${id.value}".update()
      sql"UPDATE flare SET phase_count = 0, stored_bytes = 0 WHERE id = ${id.value}".update()

  def unknown(ids: Vector[FlareId]): Vector[FlareId] =
    ids.filterNot(among(ids, sqls"").compose(_.value))

  def ended(ids: Vector[FlareId]): Vector[FlareId] =
    ids.filter(among(ids, sqls"AND ended IS NOT NULL").compose(_.value))

  private def among(ids: Vector[FlareId], those: SQLSyntax): Set[String] =
    ids.grouped(500).flatMap(some =>
      database.read("looking for flares"):
        sql"SELECT id FROM flare WHERE id IN (${some.map(_.value)}) $those".rows(_.string("id"))
    ).toSet

  def countByState(): Map[FlareState, Int] =
    database.read("counting flares"):
      sql"SELECT state, COUNT(*) AS n FROM flare WHERE is_group = 0 AND is_record = 0 GROUP BY state"
        .map(row => FlareColumns.state(row.string("state")) -> row.int("n"))
        .iterable()
        .toMap

  def namespaces(): Vector[String] =
    // Each is found from the one before by the index, instead of reading all flares.
    Vector.unfold(""): last =>
      database.read("listing namespaces of flares"):
        sql"SELECT MIN(namespace) AS next FROM flare WHERE namespace > $last".row(_.stringOpt("next"))
          .flatten
          .map(next => (next, next))

  def outdated(namespace: String, keep: Keep): Option[Timestamp] =
    val ended = sqls"FROM flare WHERE namespace = $namespace AND ended IS NOT NULL"
    database.read("looking for old flares"):
      def first(query: SQL[Nothing, NoExtractor])(using DBSession): Option[Timestamp] =
        query.row(_.get[Option[Timestamp]](1)).flatten
      val byAge = first(sql"SELECT MAX(ended) $ended AND ended < ${keep.endedSince}")
      val byNumber = first(sql"SELECT ended $ended ORDER BY ended DESC LIMIT 1 OFFSET ${keep.flares}")
      val total = sql"SELECT SUM(stored_bytes) $ended".row(_.longOpt(1)).flatten
      val byBytes = total
        .filter(_ > keep.bytes)
        .flatMap: _ =>
          first(sql"""
            SELECT MAX(ended) FROM (
              SELECT ended, SUM(stored_bytes) OVER newer AS bytes, ROW_NUMBER() OVER newer AS place $ended
              WINDOW newer AS (ORDER BY ended DESC ROWS UNBOUNDED PRECEDING)) AS kept
            WHERE bytes > ${keep.bytes} AND place > 1""")
      Vector(byAge, byNumber, byBytes).flatten.maxOption

  def prune(namespace: String, until: Timestamp, batch: Int): Pruned =
    val ended = sqls"namespace = $namespace AND ended IS NOT NULL AND ended <= $until"
    val oldest = database.read("looking for old flares"):
      sql"""SELECT id, stored_bytes, phase_count,
              EXISTS (SELECT 1 FROM flare_result r WHERE r.flare_id = flare.id AND r.output_kept IS NOT NULL)
              OR EXISTS (SELECT 1 FROM flare_log_chunk c WHERE c.flare_id = flare.id AND c.kept IS NOT NULL)
                AS has_blobs
            FROM flare WHERE $ended ORDER BY ended, id LIMIT $batch""".rows(Old(_))
    val sizes = oldest.scanLeft(0L)((sum, flare) => sum + flare.bytes).tail
    val going = oldest.take(sizes.count(_ <= BatchBytes).max(1))
    going.filter(_.phases > BatchRows).foreach(flare => dropPhases(flare.id))
    if going.nonEmpty then
      database.write("deleting old flares"):
        val _ =
          sql"DELETE FROM flare WHERE id = ? AND ended IS NOT NULL".batch(going.map(g => Seq(g.id))*).apply()
    Pruned(going.size, going.collect { case old if old.hasBlobs => Stored.flareId(old.id) })

  /** Deletes the phases of a flare before the flare itself, as they are too many rows for one transaction. */
  private def dropPhases(id: String): Unit =
    val deleted = database.write("deleting old phases"):
      sql"""DELETE FROM flare_phase WHERE id IN (
              SELECT id FROM flare_phase WHERE flare_id = $id LIMIT $BatchRows)""".update()
    if deleted > 0 then dropPhases(id)

private[store] object JdbcFlareStore:
  /** A flare that may be deleted. */
  private final case class Old(id: String, bytes: Long, phases: Long, hasBlobs: Boolean)

  private object Old:
    def apply(row: WrappedResultSet): Old =
      Old(row.string("id"), row.long("stored_bytes"), row.long("phase_count"), row.boolean("has_blobs"))

  /** How much is deleted in one transaction at most, beyond the first flare. */
  private val BatchBytes = 64L << 20
  private val BatchRows = 20000

  /** States of flares that have not ended, as they are stored. */
  val Live: Vector[String] = FlareState.values.toVector.filterNot(_.isFinal).map(FlareColumns.state)
  val LiveText: SQLSyntax = SQLSyntax.createUnsafely(Live.mkString("'", "', '", "'"))
