package burst.controller.scheduler

import burst.controller.blob.BlobName
import burst.controller.flare.*
import burst.controller.store.FlareChange.{LogPiece, Record}
import burst.controller.store.{
  AlreadySubmitted,
  FlareChange,
  FlareStore,
  FlareTaken,
  InputsFile,
  Keep,
  LogExtent,
  LogPart,
  PackageGone,
  Pruned,
  StoreException,
  Superseded
}
import burst.protocol.{FlareId, Inputs, PackageId, Timestamp}
import scala.concurrent.{ExecutionContext, Future}

/** A store in memory that keeps writes in order, and fails on demand. */
final class MemoryFlareStore extends FlareStore:
  private var flares = Map.empty[FlareId, Flare]
  private var outputs = Map.empty[FlareId, Vector[WorkerResult]]
  private var lines = Map.empty[FlareId, Vector[LogText]]
  private var marks = Map.empty[FlareId, Vector[PhaseMark]]
  private var written = Vector.empty[String]

  /** Decides by the name of the call whether it fails. */
  @volatile var fails: String => Boolean = _ => false

  /** Runs before a record is read. */
  @volatile var beforeFind: () => Unit = () => ()

  /** Whether the store has room for logs; below, the blobs that hold parts of them. */
  @volatile var logRoom = true
  @volatile var besides: Vector[BlobName] = Vector.empty

  /** Whether the connection breaks after a new flare was stored. */
  @volatile var breaksAfterInsert = false

  /** Whether another store has taken over all flares. */
  @volatile var taken = false

  /** Whether another store takes the new flares. */
  @volatile var superseded = false

  /** Whether the package of every flare was removed. */
  @volatile var withoutPackage = false

  /** The writes so far, in order: inserted and updated states, and what was added. */
  def writes: Vector[String] = synchronized(written)

  /** Whether the inputs of every flare were removed. */
  @volatile var withoutInputs = false

  /** The flares whose changes were refused so far. */
  @volatile var refused = Set.empty[FlareId]

  private def write(operation: String, note: String)(change: => Unit): Unit = synchronized {
    if fails(operation) then throw StoreException(operation, RuntimeException("no space left"))
    if taken then throw FlareTaken(FlareId.random())
    if withoutPackage then throw PackageGone(PackageId.of(Array.emptyByteArray))
    written :+= note
    change
  }

  def write(change: FlareChange)(threads: ExecutionContext): Future[Boolean] =
    Future(write(change))(using threads)

  def write(change: FlareChange): Boolean =
    val room = stored(change)
    if breaksAfterInsert && change.record.isInstanceOf[Record.New] then
      throw StoreException("insert", RuntimeException("connection reset"))
    room

  private def stored(change: FlareChange): Boolean = synchronized {
    val before = (flares, outputs, lines, marks, written)
    try
      change.record match
        case Record.New(_, _) if superseded => throw Superseded()
        case Record.New(flare, _) => begin(flare)
        case _ => ()
      keepResults(change.id, change.results)
      change.logs.foreach(keepLogs(change.id, _))
      keepPhases(change.id, change.phases)
      change.record match
        case Record.Next(flare) => replace(flare)
        case _ => ()
      logRoom
    catch
      case failure: Throwable =>
        refused += change.id
        val (flares, outputs, lines, marks, written) = before
        this.flares = flares
        this.outputs = outputs
        this.lines = lines
        this.marks = marks
        this.written = written
        throw failure
  }

  private def begin(flare: Flare): Unit =
    write("insert", s"insert ${flare.state}") {
      if flares.get(flare.id).exists(_.state.isFinal) then
        throw StoreException("insert", RuntimeException("it has ended"))
      flares = flares.removed(flare.id)
      if flare.request.submission.exists(own => submitted(flare.namespace, own.key).isDefined) then
        throw AlreadySubmitted()
      flares = flares.updated(flare.id, flare)
    }

  private def replace(flare: Flare): Unit = write("update", s"update ${flare.state}") {
    require(flares.contains(flare.id), "updated before it was inserted")
    require(!flares(flare.id).state.isFinal, "updated after its end")
    // The inputs stay as they were inserted.
    val request = flare.request.copy(inputs = flares(flare.id).request.inputs)
    flares = flares.updated(flare.id, flare.copy(request = request))
  }

  def find(id: FlareId): Option[Flare] =
    beforeFind()
    synchronized(flares.get(id))

  def submitted(namespace: String, key: String): Option[Submitted] = synchronized {
    val its = flares.values.filter(_.namespace == namespace)
    its
      .flatMap(flare => flare.request.submission.filter(_.key == key).map(flare.id -> _.digest))
      .headOption
      .map(Submitted(_, _))
  }

  def attempt(id: FlareId): Option[Int] = find(id).map(_.attempt)

  def inputs(id: FlareId): Option[Inputs] =
    if fails("inputs") then throw StoreException("inputs", RuntimeException("locked"))
    find(id).filterNot(_.state.isFinal || withoutInputs).map(_.request.inputs).map:
      case Inputs.OutOfLine(_) => InputsFile.decode(Samples.blobs.load(id, BlobName.Inputs))
      case small => small

  def list(
      namespace: Option[String],
      name: Option[String],
      state: Option[FlareState],
      limit: Int,
      skip: Int,
      groups: Boolean
  ): Vector[Flare] = Vector.empty

  def takeUnfinished(): Vector[Flare] = synchronized {
    if fails("unfinished") then throw StoreException("unfinished", RuntimeException("locked"))
    flares.values.filterNot(_.state.isFinal).toVector.sortBy(_.created).map: flare =>
      flare.copy(request = flare.request.withoutInputs)
  }

  def unfinished(ids: Vector[FlareId]): Vector[Flare] =
    beforeFind()
    takeUnfinished().filter(flare => ids.contains(flare.id))

  private def keepResults(id: FlareId, results: Vector[WorkerResult]): Unit = if results.nonEmpty then
    write("addResults", "results") {
      outputs = outputs.updated(id, outputs.getOrElse(id, Vector.empty) ++ results)
    }
  def results(id: FlareId, from: Int, until: Int): Vector[WorkerResult] =
    synchronized(outputs.getOrElse(id, Vector.empty)).filter(r => r.worker >= from && r.worker < until)
  def unknown(ids: Vector[FlareId]): Vector[FlareId] = synchronized(ids.filterNot(flares.contains))
  def ended(ids: Vector[FlareId]): Vector[FlareId] =
    synchronized(ids.filter(id => flares.get(id).exists(_.state.isFinal)))
  private def keepLogs(id: FlareId, more: LogPiece): Unit =
    if more.texts.nonEmpty then
      write("addLogs", "logs") {
        lines = lines.updated(id, lines.getOrElse(id, Vector.empty) ++ more.texts)
        besides ++= more.beside
      }
  def logExtent(id: FlareId): LogExtent =
    synchronized(LogExtent(0, lines.get(id).fold(0)(_.length), truncated = false))
  def logPart(id: FlareId, from: Long, until: Long): Option[LogPart] =
    synchronized(lines.get(id).map(texts => LogPart(texts.slice(from.toInt, until.toInt), until)))
  private def keepPhases(id: FlareId, more: Vector[PhaseMark]): Unit = if more.nonEmpty then
    write("addPhases", "phases") {
      marks = marks.updated(id, phases(id) ++ more)
    }
  def phases(id: FlareId): Vector[PhaseMark] = synchronized(marks.getOrElse(id, Vector.empty))
  def clearAttempt(id: FlareId): Unit = write("clearAttempt", "clear") {
    outputs = outputs.removed(id)
    lines = lines.removed(id)
    marks = marks.removed(id)
  }
  def countByState(): Map[FlareState, Int] = Map.empty
  def namespaces(): Vector[String] = Vector.empty
  def outdated(namespace: String, keep: Keep): Option[Timestamp] = None
  def prune(namespace: String, until: Timestamp, batch: Int): Pruned = Pruned(0, Vector.empty)
