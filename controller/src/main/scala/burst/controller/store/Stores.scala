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
  def usesPackage(packageId: PackageId): Boolean

trait FlareStore:
  /** Stores a flare that has just been accepted. */
  def insert(flare: Flare): Unit

  /** Replaces what changes in a flare's life: state, times, error, packs, workers, attempt. */
  def update(flare: Flare): Unit
  def find(id: FlareId): Option[Flare]

  /** Newest first. `packs` and `workers` of the answers are empty. */
  def list(
      namespace: String,
      name: Option[String],
      state: Option[FlareState],
      limit: Int,
      skip: Int
  ): Vector[Flare]

  /** All that had not ended, oldest first: what a starting controller must take up or report failed. */
  def unfinished(): Vector[Flare]

  def addResults(id: FlareId, results: Vector[WorkerResult]): Unit
  def results(id: FlareId): Vector[WorkerResult]
  def addLogs(id: FlareId, lines: Vector[LogLine]): Unit
  def logs(id: FlareId, worker: Option[Int]): Vector[LogLine]
  def addPhases(id: FlareId, marks: Vector[PhaseMark]): Unit
  def phases(id: FlareId): Vector[PhaseMark]

  /** Forgets what an attempt left (results, logs, phases) before the next one. */
  def clearAttempt(id: FlareId): Unit

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

  /** Creates a namespace with a fresh key pair and returns `uuid:key`, the only time it is seen in clear. */
  def create(namespace: String, limits: NamespaceLimits): String
  def exists(namespace: String): Boolean

final class StoreException(val operation: String, cause: Throwable)
    extends RuntimeException(s"the database failed during $operation", cause)
