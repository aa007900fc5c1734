package burst.controller.store

import burst.controller.definition.Definition
import burst.controller.flare.{Flare, FlareState, LogLine, PhaseMark, WorkerResult}
import burst.protocol.{FlareId, PackageId}

/** Contracts of what is kept. Calls block on the database and run on the store's dispatcher; what a call has
  * returned from is durable. A failing database is a `StoreException`.
  */
trait DefinitionStore:
  def find(namespace: String, name: String): Option[Definition]
  def list(namespace: String, limit: Int, skip: Int): Vector[Definition]

  /** Creates version 0.0.1, or with `overwrite` the next patch version; `None` when it exists and must not be
    * overwritten. Atomic under concurrent calls.
    */
  def put(definition: Definition, overwrite: Boolean): Option[Definition]
  def delete(namespace: String, name: String): Boolean

  /** Whether a definition, or a flare that has not ended, still needs these bytes. */
  def usesPackage(packageId: PackageId): Boolean

trait FlareStore:
  /** Stores a flare that has just been accepted. */
  def insert(flare: Flare): Unit

  /** Replaces what changes in a flare's life: state, times, error, packs, workers, attempt. */
  def update(flare: Flare): Unit

  /** The record without its inputs (`Inputs.Shared(Json.Null)`): they may be megabytes, hold secrets, and are
    * forgotten as soon as the flare has ended.
    */
  def find(id: FlareId): Option[Flare]

  /** Newest first. `packs`, `workers` and inputs of the answers are empty. */
  def list(
      namespace: String,
      name: Option[String],
      state: Option[FlareState],
      limit: Int,
      skip: Int
  ): Vector[Flare]

  /** All that had not ended, with their inputs, oldest first: what a starting controller must take up or
    * report failed.
    */
  def unfinished(): Vector[Flare]

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
  def countByState(): Map[FlareState, Int]

  /** Deletes up to `batch` ended flares with all they left, oldest first: those that ended before the given
    * time, and those beyond the newest `keep`. Returns how many.
    */
  def prune(keep: Int, endedBefore: Long, batch: Int): Int

/** What a flare's workers wrote, in the order it arrived. */
final case class StoredLogs(lines: Vector[LogLine], truncated: Boolean)

/** What a namespace may use. `memory` in MiB per worker. */
final case class NamespaceLimits(
    burstSize: Int,
    concurrentSlots: Int,
    memory: Int,
    packageBytes: Long,
    flaresPerMinute: Int
)

/** A caller: the namespace its key opens. */
final case class Identity(namespace: String, limits: NamespaceLimits)

trait NamespaceStore:
  /** The identity behind a key pair, or nothing; takes the same time either way. */
  def authenticate(uuid: String, key: String): Option[Identity]

  /** Creates a namespace with a fresh key pair and returns `uuid:key`, the only time it is seen in clear;
    * nothing when it exists. Without `limits` of its own the configured ones hold, also when they change.
    */
  def create(namespace: String, limits: Option[NamespaceLimits]): Option[String]

  /** Replaces the key pair, for an owner who lost it. Nothing when there is no such namespace. */
  def renewKey(namespace: String): Option[String]
  def limits(namespace: String): Option[NamespaceLimits]

final class StoreException(val operation: String, cause: Throwable)
    extends RuntimeException(s"the database failed during $operation", cause)
