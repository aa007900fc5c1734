package burst.controller.store

import burst.controller.flare.{Flare, PhaseMark}
import burst.protocol.{FlareId, Inputs, PackageId}
import scala.util.{Failure, Success, Try}
import scalikejdbc.*

/** Writes changes of several flares in one transaction, sending rows of each kind to the database together.
  * `writer` identifies this store in the flares it may write; `phaseLimit` is in marks per flare.
  */
private[store] final class FlareWrites(
    database: Database,
    packages: PackageIndex,
    keys: SubmissionKeys,
    logs: LogTable,
    phaseLimit: Long,
    writer: String
):
  import FlareChange.Record
  import FlareWrites.*

  /** Returns for each change whether more of the flare's log would be kept, or why it was refused. */
  def apply(changes: Vector[FlareChange]): Vector[Try[Boolean]] =
    database.write("storing a flare"):
      val mayInsert = isPresent()
      val before = presents(changes)
      val all = changes.map(change => Addition(change, before.getOrElse(change.id, Present.Nothing)))
      val left = insert(all, mayInsert) ++ updateRecords(all) ++ addToRecords(all)
      val stored = all.filterNot(addition => left.contains(addition.id))
      forgetInputs(stored)
      ResultRows.insert(stored.map(_.results))
      logs.insert(stored.flatMap(addition => addition.log.chunks.map(addition.id -> _)))
      insertPhases(stored)
      all.map: addition =>
        left.get(addition.id).flatten match
          case Some(refusal) => Failure(refusal)
          case None => Success(addition.change.logs.isEmpty || !addition.log.after.truncated)

  /** The changes that are not stored, and why; no reason if there is nothing to store. */
  private type Left = Map[FlareId, Option[StoreException]]

  /** A change, reduced to what still fits beside what the flare has already. */
  private final class Addition(val change: FlareChange, present: Present):
    val id: FlareId = change.id
    val results: ResultRows = ResultRows(change.id, change.results)
    val log: LogTable.Added = logs.fitting(present.log, change.logs)
    val phases: Vector[PhaseMark] =
      change.phases.take((phaseLimit - present.phases).max(0).min(change.phases.size).toInt)

    def bytes: Long =
      results.bytes + log.cost + phases.iterator.map(mark => Stored.RowBytes + mark.name.length).sum

    /** The counters, in the order of [[Counts]]. */
    def counts: Seq[Any] =
      val cut = log.after.truncated && !log.before.truncated
      Seq(log.cost, log.after.chunks - log.before.chunks, if cut then 1 else 0, phases.size)

  /** Returns how much flares have of what is limited. The rows are not locked: only this store changes them,
    * one change of a flare at a time.
    */
  private def presents(changes: Vector[FlareChange])(using DBSession): Map[FlareId, Present] =
    val limited = changes.collect:
      case change if !isNew(change) && (change.logs.nonEmpty || change.phases.nonEmpty) => change.id.value
    if limited.isEmpty then Map.empty
    else
      sql"SELECT id, ${LogTable.columns}, phase_count FROM flare WHERE id IN (${Stored.padded(limited)})"
        .map: row =>
          Stored.flareId(row.string("id")) -> Present(LogTable.present(row), row.long("phase_count"))
        .iterable()
        .toMap

  private def insert(all: Vector[Addition], mayInsert: Boolean)(using DBSession): Left =
    val own = all.collect { case addition @ Addition(Record.New(flare, begun)) => (addition, flare, begun) }
    if own.isEmpty then Map.empty
    else if !mayInsert then own.map((addition, _, _) => addition.id -> Some(Superseded())).toMap
    else
      val needed = own.collect { case (_, flare, false) if !flare.state.isFinal => packageOf(flare) }.toSet
      val gone = needed -- packages.hold(needed)
      val (without, present) = own.partition: (_, flare, begun) =>
        !begun && !flare.state.isFinal && gone.contains(packageOf(flare))
      val rows = present.map((addition, flare, _) => NewRow(flare, addition))
      val (single, free) =
        if all.size == 1 then (rows, Vector.empty)
        else rows.partition(_.flare.request.submission.isDefined)
      if free.nonEmpty then
        val _ = Insert.batch(free.map(_.values)*).apply()
      // In the same order in all stores, as each insert waits for any other holder of its key.
      val taken = single
        .sortBy(row => (row.flare.namespace, row.flare.request.submission.map(_.key)))
        .flatMap(insertSingle)
      val left =
        taken.toMap ++ without.map((addition, flare, _) => addition.id -> Some(PackageGone(packageOf(flare))))
      val waiting =
        present.collect { case (_, flare, _) if !flare.state.isFinal && !left.contains(flare.id) => flare }
      if waiting.nonEmpty then
        val _ = sql"INSERT INTO flare_inputs (flare_id, inputs, kept, environment) VALUES (?, ?, ?, ?)"
          .batch(waiting.map(inputs)*)
          .apply()
      left

  /** Inserts a flare whose key may be taken, possibly by the flare itself: a caller whose connection broke
    * cannot know whether its write arrived. If it did but differs now, it is replaced unless it has ended:
    * nobody else writes it.
    */
  private def insertSingle(row: NewRow)(using DBSession): Option[(FlareId, Option[StoreException])] =
    val flare = row.flare
    try
      keys.taking(flare.namespace, flare.request.submission)(InsertSingle.bind(row.values*).update())
      None
    catch
      case taken: AlreadySubmitted =>
        if !isOurs(flare.id) then Some(flare.id -> Some(taken))
        else if hasArrived(row) then Some(flare.id -> None)
        else if withdraw(flare.id) then insertSingle(row)
        else
          throw StoreException("storing a flare", taken, s"the flare ${flare.id.value} is stored otherwise")

  private def withdraw(id: FlareId)(using DBSession): Boolean =
    sql"DELETE FROM flare WHERE id = ${id.value} AND writer = $writer AND state IN (${JdbcFlareStore.LiveText})"
      .update() > 0

  private def packageOf(flare: Flare): PackageId = flare.request.definition.packageId

  /** Whether no other store has taken over. One that does waits for this transaction and sees its changes: it
    * changes many rows, and neither of the two may wait for the other's.
    */
  private def isPresent()(using DBSession): Boolean =
    sql"SELECT writer FROM scheduler_epoch ${database.sharedLock}"
      .row(_.stringOpt("writer"))
      .flatten
      .forall(_ == writer)

  private final class NewRow(val flare: Flare, addition: Addition):
    private val asked = FlareColumns.request(flare)
    val progress: String = FlareColumns.progress(flare)
    val parts: String = FlareColumns.parts(flare)

    /** The stored bytes, with those of the record itself, whose size is known at its end. */
    val bytes: Long =
      addition.bytes + (if flare.state.isFinal then asked.length + progress.length + parts.length else 0)

    private def request = flare.request

    def values: Seq[Any] = Seq[Any](
      flare.id.value,
      flare.namespace,
      request.definition.name,
      request.definition.packageId.value,
      FlareColumns.state(flare.state),
      flare.created,
      flare.ended,
      asked,
      progress,
      parts,
      writer,
      if request.isGroup then 1 else 0,
      FlareColumns.begun(flare),
      request.submission.map(_.key),
      request.submission.map(_.digest),
      bytes
    ) ++ addition.counts

  /** Whether this row arrived: any later change would have altered one of these columns. */
  private def hasArrived(row: NewRow)(using DBSession): Boolean =
    sql"""SELECT 1 FROM flare WHERE id = ${row.flare.id.value} AND state = ${FlareColumns.state(
        row.flare.state
      )}
            AND progress = ${row.progress} AND parts = ${row.parts} AND stored_bytes = ${row.bytes}""".isAny

  private def inputs(flare: Flare): Seq[Any] =
    val (text, kept) = flare.request.inputs match
      case Inputs.OutOfLine(size) => ("", Some(size))
      case small => (small.text.utf8String, None)
    Seq(flare.id.value, text, kept, FlareColumns.environment(flare))

  private def updateRecords(all: Vector[Addition])(using DBSession): Left =
    val own = all.collect { case addition @ Addition(Record.Next(flare)) => (addition, flare) }
    if own.isEmpty then Map.empty
    else
      val rows = own.map: (addition, flare) =>
        val (progress, parts) = (FlareColumns.progress(flare), FlareColumns.parts(flare))
        val (isFinal, record) = if flare.state.isFinal then (1, progress.length + parts.length) else (0, 0)
        Seq[Any](
          FlareColumns.state(flare.state),
          flare.ended,
          progress,
          parts,
          FlareColumns.begun(flare),
          isFinal,
          record + addition.bytes
        ) ++ addition.counts ++ Seq(flare.id.value, writer)
      missed(own, UpdateRecord, rows).map((_, flare) =>
        flare.id -> Option.when(!holds(flare))(FlareTaken(flare.id))
      ).toMap

  /** Whether an ended flare is stored in just this form. It stays as it ended, but the end may be written
    * twice: a caller whose connection broke cannot know whether everything arrived.
    */
  private def holds(flare: Flare)(using DBSession): Boolean =
    sql"""SELECT 1 FROM flare WHERE id = ${flare.id.value} AND writer = $writer
            AND state = ${FlareColumns.state(flare.state)} AND ended = ${flare.ended}
            AND progress = ${FlareColumns.progress(flare)} AND parts = ${FlareColumns.parts(flare)}""".isAny

  private def addToRecords(all: Vector[Addition])(using DBSession): Left =
    val own = all.filter: addition =>
      addition.change.record == Record.Same && !addition.change.isEmpty
    if own.isEmpty then Map.empty
    else
      val rows =
        own.map(addition => Seq[Any](addition.bytes) ++ addition.counts ++ Seq(addition.id.value, writer))
      missed(own, AddToRecord, rows)
        .map: addition =>
          // Log lines of a flare that is no longer kept are dropped.
          val isTaken = addition.change.results.nonEmpty || isThere(addition.id)
          addition.id -> Option.when(isTaken)(FlareTaken(addition.id))
        .toMap

  private def isOurs(id: FlareId)(using DBSession): Boolean =
    sql"SELECT 1 FROM flare WHERE id = ${id.value} AND writer = $writer".isAny

  private def isThere(id: FlareId)(using DBSession): Boolean =
    sql"SELECT 1 FROM flare WHERE id = ${id.value}".isAny

  /** Returns those whose statement changed nothing. */
  private def missed[A](own: Vector[A], statement: SQL[Nothing, NoExtractor], rows: Vector[Seq[Any]])(using
      DBSession
  ): Vector[A] =
    own.zip(statement.batch(rows*).apply[Vector]()).collect { case (one, 0) => one }

  private def forgetInputs(stored: Vector[Addition])(using DBSession): Unit =
    val ended = stored.collect { case Addition(Record.Next(flare)) if flare.state.isFinal => flare.id.value }
    if ended.nonEmpty then
      val _ = sql"DELETE FROM flare_inputs WHERE flare_id IN (${Stored.padded(ended)})".update()

  private def insertPhases(stored: Vector[Addition])(using DBSession): Unit =
    val rows =
      stored.flatMap(one =>
        one.phases.map(mark => Seq(one.id.value, mark.worker, Stored.free(mark.name), mark.at))
      )
    if rows.nonEmpty then
      val _ =
        sql"INSERT INTO flare_phase (flare_id, worker, name, at) VALUES (?, ?, ?, ?)".batch(rows*).apply()

  private object Addition:
    def unapply(addition: Addition): Some[Record] = Some(addition.change.record)

private object FlareWrites:
  final case class Present(log: LogTable.Present, phases: Long)

  object Present:
    val Nothing: Present = Present(LogTable.Empty, 0)

  def isNew(change: FlareChange): Boolean = change.record match
    case _: FlareChange.Record.New => true
    case _ => false

  private val Counts =
    sqls"log_bytes = log_bytes + ?, log_chunks = log_chunks + ?, log_truncated = log_truncated + ?, phase_count = phase_count + ?"

  private val Row =
    sqls"""
    INSERT INTO flare (id, namespace, name, package_id, state, created, ended, request, progress, parts, writer,
      is_group, begun, submission_key, submission_digest, stored_bytes, log_bytes, log_chunks, log_truncated,
      phase_count)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""

  /** For flares without keys: if one exists already, all fail. */
  val Insert: SQL[Nothing, NoExtractor] = sql"$Row"

  /** Does nothing if its id or its key is taken. */
  val InsertSingle: SQL[Nothing, NoExtractor] = sql"$Row ON CONFLICT DO NOTHING"

  val UpdateRecord: SQL[Nothing, NoExtractor] = sql"""
    UPDATE flare SET state = ?, ended = ?, progress = ?, parts = ?, begun = ?,
      stored_bytes = stored_bytes + ? * LENGTH(request) + ?, $Counts
    WHERE id = ? AND writer = ? AND state IN (${JdbcFlareStore.LiveText})"""

  val AddToRecord: SQL[Nothing, NoExtractor] =
    sql"UPDATE flare SET stored_bytes = stored_bytes + ?, $Counts WHERE id = ? AND writer = ?"
