package burst.controller.store

import burst.controller.definition.Definition
import burst.controller.flare.{Flare, FlareState, LogLine, PhaseMark, WorkerResult}
import burst.protocol.{FlareId, Inputs, PackageId}

/** Contracts of what is kept. Calls block on the database and run on the store's dispatcher; what a call has
  * returned from is durable. A failing database is a `StoreException`.
  */
trait DefinitionStore:
  def find(namespace: String, name: String): Option[Definition]
  def list(namespace: String, limit: Int, skip: Int): Vector[Definition]

  /** Creates version 0.0.1, or with `overwrite` the next patch version; `None` when it exists and must not be
    * overwritten. An overwrite keeps the options that `definition` leaves open, and the parameters unless it
    * is to replace them. Atomic under concurrent calls.
    */
  def put(
      definition: Definition,
      overwrite: Boolean,
      replaceParameters: Boolean = true
  ): Option[Definition]
  def delete(namespace: String, name: String): Boolean

  /** Whether a definition, or a flare that has not ended, still needs these bytes. */
  def usesPackage(packageId: PackageId): Boolean

  /** Does the work while nobody else, on any controller, does work with this package here. */
  def holding[A](packageId: PackageId)(work: => A): A

/** A flare is written through one store at a time: the one that inserted it, until another takes it over.
  * Whoever was paused or cut off meanwhile finds its writes refused by [[FlareTaken]] and changes nothing.
  */
trait FlareStore:
  /** Of what `work` writes here, on its thread, all is stored or nothing. */
  def together(work: => Unit): Unit

  /** Stores a flare that has just been accepted. Throws [[Superseded]] once another store has taken over. */
  def insert(flare: Flare): Unit

  /** Replaces what changes in a flare's life: state, times, error, packs, workers, attempt. An ended flare
    * stays as it ended, but may be told again what it holds already: a caller whose connection broke cannot
    * know whether its update arrived.
    */
  def update(flare: Flare): Unit

  /** The record without its inputs (`Inputs.Shared(Json.Null)`): they may be megabytes, hold secrets, and are
    * forgotten as soon as the flare has ended.
    */
  def find(id: FlareId): Option[Flare]

  /** The inputs of one that has not ended. */
  def inputs(id: FlareId): Option[Inputs]

  /** Newest first: flares, or groups. `packs`, `workers` and inputs of the answers are empty. */
  def list(
      namespace: String,
      name: Option[String],
      state: Option[FlareState],
      limit: Int,
      skip: Int,
      groups: Boolean = false
  ): Vector[Flare]

  /** All that have not ended, with their inputs, oldest first: what a starting controller must take up or
    * report failed. From then on they are written, and new ones added, through this store alone.
    */
  def takeUnfinished(): Vector[Flare]

  def addResults(id: FlareId, results: Vector[WorkerResult]): Unit
  def results(id: FlareId): Vector[WorkerResult]

  /** Keeps lines up to the limit per flare; what comes after is dropped and the log marked as truncated. */
  def addLogs(id: FlareId, lines: Vector[LogLine]): Unit
  def logs(id: FlareId, worker: Option[Int]): StoredLogs

  /** Keeps marks up to the limit per flare. */
  def addPhases(id: FlareId, marks: Vector[PhaseMark]): Unit
  def phases(id: FlareId): Vector[PhaseMark]

  /** Forgets what an attempt left (results, logs, phases) before the next one. */
  def clearAttempt(id: FlareId): Unit

  /** Groups are not counted. */
  def countByState(): Map[FlareState, Int]

  /** Deletes up to `batch` ended flares with all they left, oldest first: those that ended before the given
    * time, and those beyond the newest `keep`. Returns how many.
    */
  def prune(keep: Int, endedBefore: Long, batch: Int): Int

/** Counts the schedulers there have been, so that of two the later one is known. */
trait EpochStore:
  /** A number higher than any before, whoever asked for them. */
  def next(): Long

  /** The highest so far; 0 before the first. */
  def present(): Long

/** What a flare's workers wrote, in the order it arrived. */
final case class StoredLogs(lines: Vector[LogLine], truncated: Boolean)

/** A caller: the namespace its key opens. */
final case class Identity(namespace: String, limits: NamespaceLimits)

/** A namespace as its administrator sees it. Times in microseconds since the epoch. */
final case class Namespace(name: String, limits: NamespaceLimits, created: Long, revoked: Option[Long])

trait NamespaceStore:
  /** The identity behind a key pair, or nothing; takes the same time either way. */
  def authenticate(uuid: String, key: String): Option[Identity]

  /** Creates a namespace with a fresh key pair and returns `uuid:key`, the only time it is seen in clear;
    * nothing when it exists. With `overwrite` an existing one, revoked or not, gets these limits and a fresh
    * pair; the old one opens nothing any more.
    */
  def create(
      namespace: String,
      limits: OwnLimits = OwnLimits(),
      overwrite: Boolean = false
  ): Option[String]

  /** Replaces the key pair, for an owner who lost it. Nothing when there is no such namespace. */
  def renewKey(namespace: String): Option[String]

  /** From its return on the key pair opens nothing, on no controller. What the namespace has stays. */
  def revoke(namespace: String): Option[Namespace]
  def find(namespace: String): Option[Namespace]
  final def limits(namespace: String): Option[NamespaceLimits] = find(namespace).map(_.limits)

  /** By name. */
  def list(limit: Int, skip: Int): Vector[Namespace]

/** The database failed, or refused. */
class StoreException(val operation: String, cause: Throwable | Null, message: String)
    extends RuntimeException(message, cause):
  def this(operation: String, cause: Throwable) =
    this(operation, cause, s"the database failed during $operation")

/** Nothing was written: another controller has the scheduler now, and its store alone takes new flares. */
final class Superseded
    extends StoreException("storing a flare", null, "another controller has the scheduler now: try again")

/** Nothing was written: another controller has taken the flare over, or it has ended. Trying again is of no
  * use.
  */
final class FlareTaken(id: FlareId)
    extends StoreException(
      "updating a flare",
      null,
      s"the flare ${id.value} has ended already or belongs to another controller now"
    )
