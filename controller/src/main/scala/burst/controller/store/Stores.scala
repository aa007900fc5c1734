package burst.controller.store

import burst.controller.limits.{NamespaceLimits, OwnLimits}
import burst.controller.blob.PackageCopy
import burst.controller.definition.{Definition, VariableChanges}
import burst.controller.flare.{Flare, FlareState, LogText, PhaseMark, Submitted, WorkerResult}
import burst.protocol.{FlareId, Inputs, InvokerId, PackageId, Timestamp}
import scala.concurrent.{ExecutionContext, Future}

/** The interfaces of the stores. Calls block on the database and run on the store's dispatcher. Once a call
  * has returned, its effect survives the end of the process and also a power failure ([[Durability]]), except
  * for flares in an embedded database that is not configured to flush them. If the database fails, calls
  * throw `StoreException`.
  */
trait DefinitionStore:
  /** Returns the present version. */
  def find(namespace: String, name: String): Option[Definition]

  /** Returns the present version or an older one, while it is kept. */
  def find(namespace: String, name: String, version: String): Option[Definition]

  /** Lists definitions, newest first, of a namespace or of one package. The parameters of the results are
    * empty.
    */
  def list(namespace: String, limit: Int, skip: Int, inPackage: Option[String] = None): Vector[Definition]

  /** Counts the definitions of a namespace or of one package. */
  def count(namespace: String, inPackage: Option[String] = None): Int

  /** Returns the versions that are kept, the present one first. The parameters of the results are empty. */
  def versions(namespace: String, name: String, limit: Int, skip: Int): Vector[Definition]

  /** Creates version 0.0.1, or with `overwrite` the next patch version. That keeps the options that
    * `definition` leaves open, the parameters unless they are to be replaced, and the variables that
    * `variables` does not change; `definition`'s own variables are ignored. Confirms the copy of the package,
    * and throws [[PackageGone]] if it is missing. Atomic under concurrent calls.
    *
    * The replaced version is kept with its package, until a number of others have followed, or until the
    * namespace's bytes are needed for present versions.
    */
  def put(
      definition: Definition,
      copy: PackageCopy,
      overwrite: Boolean,
      limits: NamespaceLimits,
      replaceParameters: Boolean = true,
      variables: VariableChanges = VariableChanges()
  ): Either[DeployRefusal, DefinitionChange]

  /** Creates a definition, or replaces its present version, with what `next` returns for the stored one;
    * otherwise as [[put]], which is built on this. Without `copy`, the package must be that of the present
    * version.
    */
  def edit(namespace: String, name: String, copy: Option[PackageCopy], limits: NamespaceLimits)(
      next: Option[Definition] => Either[DeployRefusal, Definition]
  ): Either[DeployRefusal, DefinitionChange]

  /** Makes a new version that is equal to the given one, or to the one before the present, with the present
    * secrets.
    */
  def rollBack(
      namespace: String,
      name: String,
      version: Option[String],
      limits: NamespaceLimits,
      now: Timestamp
  ): Either[DeployRefusal, DefinitionChange]

  /** Removes all versions. */
  def delete(namespace: String, name: String): Option[DefinitionChange]

/** A definition as a change has left it, or as it was before it was deleted. `released` are the packages of
  * versions that were dropped: nothing may need them now.
  */
final case class DefinitionChange(definition: Definition, released: Set[PackageId])

/** Why a definition is not stored. */
enum DeployRefusal:
  case Exists

  /** Another entity of the namespace has this name. */
  case NameTaken(by: Collection)

  /** Its package does not exist, or is a binding to someone else's. */
  case NoSuchPackage(name: String)
  case InBinding(name: String)

  /** The definition is new, and the request has no program. */
  case NoProgram

  /** Programs of its kind run one call at a time. */
  case NotConcurrent(kind: String)

  /** There is no definition to roll back, or not this version of it, or none before the present one. */
  case Missing
  case NoSuchVersion(version: String)
  case NoVersionBefore

  /** The namespace has as many as it is allowed. */
  case TooMany(allowed: Int)

  /** The program would have this many environment variables, or this many bytes of them. */
  case TooManyVariables(count: Int)
  case VariablesTooLarge(bytes: Long)

  /** The secrets were sealed by the key with the id `sealedBy`, but the database's by the one with `noted`.
    */
  case OtherKey(sealedBy: String, noted: String)

  /** The packages, parameters and variables of the namespace's definitions would have this many bytes in all.
    */
  case TooLarge(bytes: Long, allowed: Long)

/** A flare is written through one store at a time: the one that inserted it, until another takes it over. The
  * writes of a controller that was paused or cut off meanwhile fail with [[FlareTaken]] and change nothing.
  */
trait FlareStore extends LogReader, ResultReader:
  /** Stores a change on one of these threads, in a transaction that others may share; only one change of a
    * flare may be in progress at a time. Returns whether more of its log would be kept. Log lines and marks
    * are stored up to a flare's limits; further ones are dropped, and the log is marked as truncated.
    *
    * A new flare fails with [[Superseded]] once another store has taken over, with [[PackageGone]] without
    * its package, and with [[AlreadySubmitted]] if its submission's key belongs to another flare of its
    * namespace. An ended flare stays as it ended: its end may be written again, without storing what comes
    * with it twice, since a caller whose connection broke cannot know whether it arrived.
    */
  def write(change: FlareChange)(threads: ExecutionContext): Future[Boolean]

  /** Does the same in a transaction of its own, on this thread. */
  def write(change: FlareChange): Boolean

  /** Returns the record without its inputs (`Inputs.Hidden`): they may be megabytes, contain secrets, and are
    * deleted as soon as the flare has ended.
    */
  def find(id: FlareId): Option[Flare]

  /** Returns the flare, or the other record, that a namespace's key belongs to, while it is kept, and for as
    * long as keys are.
    */
  def submitted(namespace: String, key: String): Option[Submitted]

  /** Returns the inputs of a flare that has not ended. */
  def inputs(id: FlareId): Option[Inputs]

  /** Lists flares, or groups, newest first, of one namespace or of all. `packs`, `workers` and inputs of the
    * results are empty.
    */
  def list(
      namespace: Option[String],
      name: Option[String],
      state: Option[FlareState],
      limit: Int,
      skip: Int,
      groups: Boolean = false
  ): Vector[Flare]

  /** Returns all flares that have not ended, with their inputs `OutOfLine`, oldest first: a starting
    * controller must adopt them or report them as failed. From then on they are written, and new ones added,
    * through this store only.
    */
  def takeUnfinished(): Vector[Flare]

  /** Returns those of these flares that were written through this store and have not ended, in the form of
    * `takeUnfinished`.
    */
  def unfinished(ids: Vector[FlareId]): Vector[Flare]

  def phases(id: FlareId): Vector[PhaseMark]

  /** Deletes what an attempt left (results, logs, phases) before the next one. */
  def clearAttempt(id: FlareId): Unit

  /** Returns those of these flares that are not stored (any more), or that have ended, respectively. */
  def unknown(ids: Vector[FlareId]): Vector[FlareId]
  def ended(ids: Vector[FlareId]): Vector[FlareId]

  /** Counts flares; groups are not counted. */
  def countByState(): Map[FlareState, Int]

  /** Returns the namespaces that have flares. */
  def namespaces(): Vector[String]

  /** Returns when the newest of the ended flares that are not to be kept has ended, if there is any. */
  def outdated(namespace: String, keep: Keep): Option[Timestamp]

  /** Deletes a namespace's oldest ended flares that ended at that time or before, with all they left: up to
    * `batch`, and fewer if they are large, so that other writers need not wait for long.
    */
  def prune(namespace: String, until: Timestamp, batch: Int): Pruned

/** How many flares were deleted, and which of them may have blobs. */
final case class Pruned(flares: Int, withBlobs: Vector[FlareId])

/** Which ended flares of a namespace are kept: those that ended no earlier than `endedSince`, of these the
  * newest `flares`, while they take no more than `bytes` together. The newest is kept whatever its size.
  */
final case class Keep(flares: Int, endedSince: Timestamp, bytes: Long)

/** Numbers the schedulers, so that of two the later one is known. */
trait EpochStore:
  /** Returns a number higher than any before, whoever asked for them. */
  def next(): Long

  /** Returns the highest number so far; 0 before the first. */
  def present(): Long

/** The machines that receive no new flares, by the administrator's order, until they are resumed. */
trait DrainedInvokers:
  def all(): Set[InvokerId]
  def add(id: InvokerId): Unit

  /** Removes a machine; returns whether it was one of them. */
  def remove(id: InvokerId): Boolean

/** Reads results of some workers at a time: nobody needs to hold all of them. */
trait ResultReader:
  /** Returns the attempt a flare is at. It is stored before any other data of the attempt. */
  def attempt(id: FlareId): Option[Int]

  /** Returns the results of the workers from the first number up to, but excluding, the second. */
  def results(id: FlareId, from: Int, until: Int): Vector[WorkerResult]

/** Reads logs in parts: nobody needs to hold a whole one. */
trait LogReader:
  /** Returns how far the log currently extends; an empty extent for an unknown flare. */
  def logExtent(id: FlareId): LogExtent

  /** Returns the part of a log that begins at `from`, which must be before `until`: about a MiB. None if the
    * log has been cleared since its extent was read.
    */
  def logPart(id: FlareId, from: Long, until: Long): Option[LogPart]

/** Where a log begins and ends, in units of the store, and whether more was written than is kept. */
final case class LogExtent(from: Long, until: Long, truncated: Boolean):
  /** Returns the part of the extent that is not before this position. */
  def since(position: Long): LogExtent = copy(from = from.max(position).min(until))

/** A part of a log, in the order it arrived, and where the next one begins. */
final case class LogPart(texts: Vector[LogText], next: Long)

/** A caller: the namespace its key opens. `uuid` is the public half of its credentials, present if programs
  * that it calls may receive a key.
  */
final case class Identity(namespace: String, limits: NamespaceLimits, uuid: Option[String] = None)

/** A namespace as the platform knows it, with the uuid of its credentials. */
final case class Namespace(
    name: String,
    limits: NamespaceLimits,
    created: Timestamp,
    revoked: Option[Timestamp],
    uuid: String
):
  /** Returns the identity of a caller that acts for the namespace without its key. */
  def identity: Identity = Identity(name, limits, Some(uuid))

/** A namespace with a fresh key pair `uuid:key`, the only time that is seen in clear. Whoever shows it needs
  * nothing more from the database, which may have failed by then.
  */
final case class Issued(namespace: Namespace, credentials: String)

trait NamespaceStore:
  /** Returns the identity behind a key pair, or none; takes the same time either way. A program's key, valid
    * until its deadline, opens what its caller's does.
    */
  def authenticate(uuid: String, key: String): Option[Identity]

  /** Creates a namespace with a fresh key pair; returns none if it exists. With `overwrite` an existing one,
    * revoked or not, gets these limits and a fresh pair; the old one becomes invalid.
    */
  def issue(namespace: String, limits: OwnLimits, overwrite: Boolean): Option[Issued]

  /** Does the same for callers that need only the key pair. */
  final def create(
      namespace: String,
      limits: OwnLimits = OwnLimits(),
      overwrite: Boolean = false
  ): Option[String] = issue(namespace, limits, overwrite).map(_.credentials)

  /** Creates the namespace of the user who starts the platform, as [[create]] does. Its key can be renewed.
    */
  def establish(namespace: String): Option[String]

  /** Replaces a key pair that the platform itself made, for an owner who lost it. Returns none if there is no
    * such pair: a namespace that an administrator has created, replaced or revoked stays unchanged.
    */
  def renewKey(namespace: String): Option[String]

  /** Gives a namespace that is not revoked a fresh key pair, and leaves it otherwise unchanged: the old pair
    * becomes invalid. Returns none if there is no such namespace.
    */
  def replaceKey(namespace: String): Option[Issued]

  /** Gives a namespace these limits; those that are not named, and its key, stay as they are. */
  def limit(namespace: String, limits: OwnLimits): Option[Namespace]

  /** Revokes a namespace: once this returns, no controller accepts the key pair. What the namespace has
    * stays.
    */
  def revoke(namespace: String): Option[Namespace]
  def revoked(): Set[String]
  def find(namespace: String): Option[Namespace]
  final def limits(namespace: String): Option[NamespaceLimits] = find(namespace).map(_.limits)

  /** Lists namespaces by name. */
  def list(limit: Int, skip: Int): Vector[Namespace]

/** The database failed or refused a request. */
class StoreException(val operation: String, cause: Throwable | Null, message: String)
    extends RuntimeException(message, cause):
  def this(operation: String, cause: Throwable) =
    this(operation, cause, s"the database failed during $operation")

/** Nothing was written: another controller has the scheduler now, and only its store accepts new flares. */
final class Superseded
    extends StoreException("storing a flare", null, "another controller has the scheduler now: try again")

/** Nothing was written: the same request, or another one with the same key, was stored before. */
final class AlreadySubmitted
    extends StoreException("storing a flare", null, "a flare was submitted by that key before")

/** Nothing was written: another controller has taken the flare over, or it has ended. Retrying is useless. */
final class FlareTaken(id: FlareId)
    extends StoreException(
      "storing a flare",
      null,
      s"the flare ${id.value} has ended already or belongs to another controller now"
    )
