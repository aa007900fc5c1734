package burst.controller.store

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.definition.SealedEnvironment
import burst.controller.flare.*
import burst.protocol.{Failure, FlareId, Inputs, JsonText}
import java.nio.file.NoSuchFileException
import scala.concurrent.{ExecutionContext, Future}
import scalikejdbc.*

/** Flares and what they leave, in any SQL database, but for what is too large for it: of that it knows the
  * names. `logLimit` is in bytes, `phaseLimit` in marks, both per flare.
  */
final class JdbcFlareStore(
    database: Database,
    blobs: FlareBlobStore,
    packages: PackageIndex,
    logLimit: Long,
    phaseLimit: Long,
    keys: SubmissionKeys
) extends FlareStore:
  import JdbcFlareStore.*

  /** Names this store in the flares it may write. */
  private val writer = java.util.UUID.randomUUID.toString

  /** The transaction that checked the epoch last: of those that insert at the same time, others check, too.
    */
  @volatile private var checked: DBSession = NoSession

  private val logs = LogTable(database, blobs, logLimit)

  private val changes = database.writers("storing a flare's changes")

  def together(threads: ExecutionContext)(work: => Unit): Future[Unit] =
    // Whose key is taken has written nothing, and is not to undo what others write at the same time.
    var taken = Option.empty[AlreadySubmitted]
    def change(): Unit =
      taken = None
      try work
      catch case lost: AlreadySubmitted => taken = Some(lost)
    changes(threads)(() => change()).map(_ => taken.foreach(throw _))(using ExecutionContext.parasitic)

  def insert(flare: Flare, begun: Boolean, results: Vector[WorkerResult]): Unit =
    val (asked, progress, parts) =
      (FlareColumns.request(flare), FlareColumns.progress(flare), FlareColumns.parts(flare))
    val record = if flare.state.isFinal then length(asked) + length(progress) + length(parts) else 0L
    val rows = ResultRows(flare.id, results)
    database.write("storing a flare"):
      checkEpoch()
      if !begun && !flare.state.isFinal then packages.require(flare.request.definition.packageId)
      val submission = flare.request.submission
      keys.taking(flare.namespace, submission)(sql"""
        INSERT INTO flare (id, namespace, name, package_id, state, created, ended, request, progress, parts,
          writer, is_group, stored_bytes, begun, submission_key, submission_digest)
        VALUES (${flare.id.value}, ${flare.namespace}, ${flare.request.definition.name},
          ${flare.request.definition.packageId.value}, ${FlareColumns.state(flare.state)}, ${flare.created},
          ${flare.ended}, $asked, $progress, $parts, $writer, ${if flare.request.isGroup then 1 else 0},
          ${record + rows.bytes}, ${FlareColumns.begun(flare)},
          ${submission.map(_.key)}, ${submission.map(_.digest)})
        ${SubmissionKeys.Free}""".update())
      if !flare.state.isFinal then
        val (inputs, kept) = flare.request.inputs match
          case Inputs.OutOfLine(size) => ("", Some(size))
          case small => (small.text.utf8String, None)
        sql"""INSERT INTO flare_inputs (flare_id, inputs, kept, environment)
              VALUES (${flare.id.value}, $inputs, $kept, ${FlareColumns.environment(flare)})""".update()
      rows.store()

  /** That this store may insert. Whoever takes over waits for this transaction, and finds what is in it. */
  private def checkEpoch()(using session: DBSession): Unit =
    if checked ne session then
      val present =
        sql"SELECT writer FROM scheduler_epoch ${database.sharedLock}".map(_.stringOpt("writer")).single()
      if present.flatten.exists(_ != writer) then throw Superseded()
      checked = session

  def update(flare: Flare): Unit =
    val (state, progress, parts) =
      (FlareColumns.state(flare.state), FlareColumns.progress(flare), FlareColumns.parts(flare))
    // What the record itself takes is known with its end.
    val record =
      if flare.state.isFinal then sqls"LENGTH(request) + ${length(progress) + length(parts)}" else sqls"0"
    database.write("updating a flare"):
      val updated = sql"""
        UPDATE flare SET state = $state, ended = ${flare.ended}, progress = $progress, parts = $parts,
          begun = ${FlareColumns.begun(flare)}, stored_bytes = stored_bytes + $record
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
      sql"""SELECT id, state, created, ended, request, progress, parts FROM flare
            WHERE id = ${id.value} AND is_record = 0"""
        .map(row => flare(row, parts = row.stringOpt("parts"), inputs = Inputs.Hidden))
        .single()

  def submitted(namespace: String, key: String): Option[Submitted] =
    database.read("looking for a submission")(keys.find(namespace, key))

  def attempt(id: FlareId): Option[Int] =
    database.read("reading a flare's attempt"):
      sql"SELECT progress FROM flare WHERE id = ${id.value}"
        .map(row => FlareColumns.attempt(row.string("progress")))
        .single()

  def inputs(id: FlareId): Option[Inputs] =
    val row = database.read("reading inputs"):
      sql"SELECT inputs, kept FROM flare_inputs WHERE flare_id = ${id.value}"
        .map(row => (row.string("inputs"), row.longOpt("kept")))
        .single()
    row.flatMap:
      case (text, None) => Some(Stored.inputs(text))
      // The flare may end meanwhile.
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
        .map(flare(_, parts = None, inputs = Inputs.Hidden))
        .collection[Vector]()

  def takeUnfinished(): Vector[Flare] =
    database.write("taking over unfinished flares"):
      sql"""INSERT INTO scheduler_epoch (id, epoch, writer) VALUES (1, 0, $writer)
            ON CONFLICT (id) DO UPDATE SET writer = excluded.writer""".update()
      sql"UPDATE flare SET writer = $writer WHERE state IN ($Live)".update()
      sql"""SELECT id, state, created, ended, request, progress, parts, environment,
              COALESCE(kept, LENGTH(inputs)) AS input_length
            FROM flare LEFT JOIN flare_inputs ON flare_id = id
            WHERE state IN ($Live) ORDER BY created, id"""
        .map: row =>
          val inputs = Inputs.OutOfLine(row.longOpt("input_length").getOrElse(0L))
          val environment =
            row.stringOpt("environment").fold(SealedEnvironment.Empty)(Stored.json[SealedEnvironment])
          val found = flare(row, row.stringOpt("parts"), inputs)
          found.copy(request = found.request.copy(environment = environment))
        .collection[Vector]()

  def addResults(id: FlareId, results: Vector[WorkerResult]): Unit =
    if results.nonEmpty then
      database.write("storing results"):
        val rows = ResultRows(id, results)
        occupy(id, rows.bytes)
        rows.store()

  def results(id: FlareId, from: Int, until: Int): Vector[WorkerResult] =
    database.read("reading results"):
      sql"""SELECT worker, output, output_kept, error FROM flare_result
            WHERE flare_id = ${id.value} AND worker >= $from AND worker < $until ORDER BY worker"""
        .map: row =>
          WorkerResult(
            row.int("worker"),
            row
              .stringOpt("output")
              .map(text => Output.Inline(JsonText(text)))
              .orElse(row.longOpt("output_kept").map(Output.OutOfLine(_))),
            row.stringOpt("error").map(Stored.json[Failure])
          )
        .collection[Vector]()

  def addLogs(id: FlareId, texts: Vector[LogText], beside: Option[BlobName]): Boolean =
    texts.isEmpty || database.write("storing logs"):
      own(id, LogTable.columns)(LogTable.present).forall: present =>
        val added = logs.append(id, present, texts, beside)
        occupy(id, added.cost)
        !added.truncated

  def logExtent(id: FlareId): LogExtent = logs.extent(id)

  def logPart(id: FlareId, from: Long, until: Long): Option[LogPart] = logs.part(id, from, until)

  def addPhases(id: FlareId, marks: Vector[PhaseMark]): Unit =
    if marks.nonEmpty then
      database.write("storing phases"):
        own(id, sqls"phase_count")(_.long("phase_count"))
          .foreach: before =>
            val kept = marks.take((phaseLimit - before).max(0).min(marks.size).toInt)
            if kept.nonEmpty then
              sql"UPDATE flare SET phase_count = ${before + kept.size} WHERE id = ${id.value}".update()
              occupy(id, kept.map(mark => Stored.RowBytes + length(mark.name)).sum)
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
        sql"SELECT id FROM flare WHERE id IN (${some.map(_.value)}) $those"
          .map(_.string("id"))
          .collection[Vector]()
    ).toSet

  def countByState(): Map[FlareState, Int] =
    database.read("counting flares"):
      sql"SELECT state, COUNT(*) AS n FROM flare WHERE is_group = 0 AND is_record = 0 GROUP BY state"
        .map(row => FlareColumns.state(row.string("state")) -> row.int("n"))
        .iterable()
        .toMap

  def namespaces(): Vector[String] =
    // Each is found from the one before by the index: all flares would be looked at otherwise.
    Vector.unfold(""): last =>
      database.read("listing namespaces of flares"):
        sql"SELECT MIN(namespace) AS next FROM flare WHERE namespace > $last"
          .map(_.stringOpt("next"))
          .single()
          .flatten
          .map(next => (next, next))

  def outdated(namespace: String, keep: Keep): Option[Long] =
    val ended = sqls"FROM flare WHERE namespace = $namespace AND ended IS NOT NULL"
    database.read("looking for old flares"):
      def first(query: SQL[Nothing, NoExtractor])(using DBSession): Option[Long] =
        query.map(_.longOpt(1)).single().flatten
      val byAge = first(sql"SELECT MAX(ended) $ended AND ended < ${keep.endedSince}")
      val byNumber = first(sql"SELECT ended $ended ORDER BY ended DESC LIMIT 1 OFFSET ${keep.flares}")
      val total = first(sql"SELECT SUM(stored_bytes) $ended")
      val byBytes = total
        .filter(_ > keep.bytes)
        .flatMap: _ =>
          first(sql"""
            SELECT MAX(ended) FROM (
              SELECT ended, SUM(stored_bytes) OVER newer AS bytes, ROW_NUMBER() OVER newer AS place $ended
              WINDOW newer AS (ORDER BY ended DESC ROWS UNBOUNDED PRECEDING)) AS kept
            WHERE bytes > ${keep.bytes} AND place > 1""")
      Vector(byAge, byNumber, byBytes).flatten.maxOption

  def prune(namespace: String, until: Long, batch: Int): Pruned =
    val ended = sqls"namespace = $namespace AND ended IS NOT NULL AND ended <= $until"
    val oldest = database.read("looking for old flares"):
      sql"""SELECT id, stored_bytes, phase_count,
              EXISTS (SELECT 1 FROM flare_result r WHERE r.flare_id = flare.id AND r.output_kept IS NOT NULL)
              OR EXISTS (SELECT 1 FROM flare_log_chunk c WHERE c.flare_id = flare.id AND c.kept IS NOT NULL)
                AS has_blobs
            FROM flare WHERE $ended ORDER BY ended, id LIMIT $batch"""
        .map(Old(_))
        .collection[Vector]()
    val sizes = oldest.scanLeft(0L)((sum, flare) => sum + flare.bytes).tail
    val going = oldest.take(sizes.count(_ <= BatchBytes).max(1))
    going.filter(_.phases > BatchRows).foreach(flare => dropPhases(flare.id))
    if going.nonEmpty then
      database.write("deleting old flares"):
        val _ =
          sql"DELETE FROM flare WHERE id = ? AND ended IS NOT NULL".batch(going.map(g => Seq(g.id))*).apply()
    Pruned(going.size, going.collect { case old if old.hasBlobs => Stored.flareId(old.id) })

  /** What are too many rows for one transaction go before their flare. */
  private def dropPhases(id: String): Unit =
    val deleted = database.write("deleting old phases"):
      sql"""DELETE FROM flare_phase WHERE id IN (
              SELECT id FROM flare_phase WHERE flare_id = $id LIMIT $BatchRows)""".update()
    if deleted > 0 then dropPhases(id)

  /** All that a flare leaves is counted here. A flare that another store has, or that is not there, is
    * refused.
    */
  private def occupy(id: FlareId, more: Long)(using DBSession): Unit =
    val own =
      sql"UPDATE flare SET stored_bytes = stored_bytes + $more WHERE id = ${id.value} AND writer = $writer".update()
    if own == 0 then throw FlareTaken(id)

  private def length(value: Any): Long = value match
    case text: String => text.length.toLong
    case _ => 0L

  /** Columns of a flare that nobody else can change meanwhile; nothing when there is no such flare. */
  private def own[A](id: FlareId, columns: SQLSyntax)(read: WrappedResultSet => A)(using
      DBSession
  ): Option[A] =
    sql"SELECT writer, $columns FROM flare WHERE id = ${id.value} ${database.rowLock}"
      .map(row => if row.string("writer") == writer then read(row) else throw FlareTaken(id))
      .single()

  private def owned(id: FlareId)(using DBSession): Boolean = own(id, sqls"state")(_ => ()).isDefined

  private def flare(row: WrappedResultSet, parts: Option[String], inputs: Inputs): Flare =
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
  /** A flare that may be deleted. */
  private final case class Old(id: String, bytes: Long, phases: Long, hasBlobs: Boolean)

  private object Old:
    def apply(row: WrappedResultSet): Old =
      Old(row.string("id"), row.long("stored_bytes"), row.long("phase_count"), row.boolean("has_blobs"))

  /** What is deleted in one transaction at most, beyond the first flare. */
  private val BatchBytes = 64L << 20
  private val BatchRows = 20000

  /** States of flares that have not ended, as they are stored. */
  val Live: Vector[String] = FlareState.values.toVector.filterNot(_.isFinal).map(FlareColumns.state)
