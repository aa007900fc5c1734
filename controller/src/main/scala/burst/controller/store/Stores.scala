package burst.controller.store

import burst.controller.limits.{NamespaceLimits, OwnLimits}
import burst.controller.blob.PackageCopy
import burst.controller.definition.{Definition, VariableChanges}
import burst.controller.flare.{Flare, FlareState, LogText, PhaseMark, Submitted, WorkerResult}
import burst.protocol.{FlareId, Inputs, InvokerId, PackageId, Timestamp}
import scala.concurrent.{ExecutionContext, Future}

/** Contracts of what is kept. Calls block on the database and run on the store's dispatcher. What a call has
  * returned from survives the end of the process and, but for flares on an embedded database that is not told
  * so, a failure of power ([[Durability]]). A failing database is a `StoreException`.
  */
trait DefinitionStore:
  /** The present version. */
  def find(namespace: String, name: String): Option[Definition]

  /** The present version or an older one, as long as it is kept. */
  def find(namespace: String, name: String, version: String): Option[Definition]

  /** Newest first, of a namespace or of one package. The parameters of the answers are empty. */
  def list(namespace: String, limit: Int, skip: Int, inPackage: Option[String] = None): Vector[Definition]

  /** How many there are. */
  def count(namespace: String, inPackage: Option[String] = None): Int

  /** The versions that are kept, the present one first. The parameters of the answers are empty. */
  def versions(namespace: String, name: String, limit: Int, skip: Int): Vector[Definition]

  /** Creates version 0.0.1, or with `overwrite` the next patch version, which keeps the options that
    * `definition` leaves open, the parameters unless it is to replace them, and the variables that are not
    * changed: the definition's own are not looked at. Confirms the copy of its package, and throws
    * [[PackageGone]] without one. Atomic under concurrent calls.
    *
    * The version that is replaced is kept with its package, until so many others have followed, or until the
    * namespace's bytes are needed for present ones.
    */
  def put(
      definition: Definition,
      copy: PackageCopy,
      overwrite: Boolean,
      limits: NamespaceLimits,
      replaceParameters: Boolean = true,
      variables: VariableChanges = VariableChanges()
  ): Either[DeployRefusal, DefinitionChange]

  /** Creates a definition, or replaces its present version, by what `next` makes of the one that is there; as
    * [[put]] does, which is written by it. Without a copy the package is to be the present one's.
    */
  def edit(namespace: String, name: String, copy: Option[PackageCopy], limits: NamespaceLimits)(
      next: Option[Definition] => Either[DeployRefusal, Definition]
  ): Either[DeployRefusal, DefinitionChange]

  /** Makes a next version that is equal to this one, or to the one before the present, with the present
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
  * versions that went: nothing may need them now.
  */
final case class DefinitionChange(definition: Definition, released: Set[PackageId])

/** Why a definition is not stored. */
enum DeployRefusal:
  case Exists

  /** Another entity of the namespace is called so. */
  case NameTaken(by: Collection)

  /** It is to be in a package that is not there, or is somebody else's under another name. */
  case NoSuchPackage(name: String)
  case InBinding(name: String)

  /** There is nothing yet that would keep its program. */
  case NoProgram

  /** A program of its kind runs one call at a time. */
  case NotConcurrent(kind: String)

  /** There is no definition to roll back, not this version of it, or none before the present one. */
  case Missing
  case NoSuchVersion(version: String)
  case NoVersionBefore

  /** The namespace has as many as it may have. */
  case TooMany(allowed: Int)

  /** Its program would have so many environment variables, or so many bytes of them. */
  case TooManyVariables(count: Int)
  case VariablesTooLarge(bytes: Long)

  /** Its secrets were sealed by the key of this id; the database's are by that of another one. */
  case OtherKey(sealedBy: String, noted: String)

  /** The packages, parameters and variables of the namespace's definitions would have so many bytes. */
  case TooLarge(bytes: Long, allowed: Long)

/** A flare is written through one store at a time: the one that inserted it, until another takes it over. A
  * controller that was paused or cut off meanwhile finds its writes refused by [[FlareTaken]] and changes
  * nothing.
  */
trait FlareStore extends LogReader, ResultReader:
  /** Stores a change on one of these threads, in a transaction that others may share; of a flare one change
    * after the other. Answers whether more of its log would be kept. Of lines and marks as many are stored as
    * a flare may have; more are dropped, and the log marked as truncated.
    *
    * A new flare fails with [[Superseded]] once another store has taken over, with [[PackageGone]] without
    * its package, and with [[AlreadySubmitted]] when its submission's key stands for another flare of its
    * namespace. An ended flare stays as it ended: it may be told that again, and what comes with it is not
    * stored again, since a caller whose connection broke cannot know whether it arrived.
    */
  def write(change: FlareChange)(threads: ExecutionContext): Future[Boolean]

  /** The same, in a transaction of its own, on this thread. */
  def write(change: FlareChange): Boolean

  /** The record without its inputs (`Inputs.Hidden`): they may be megabytes, hold secrets, and are forgotten
    * as soon as the flare has ended.
    */
  def find(id: FlareId): Option[Flare]

  /** The flare, or the record of what is none, that a key of a namespace stands for: as long as it is kept,
    * and for the time that keys are.
    */
  def submitted(namespace: String, key: String): Option[Submitted]

  /** The inputs of one that has not ended. */
  def inputs(id: FlareId): Option[Inputs]

  /** Newest first: flares, or groups, of one namespace or of all. `packs`, `workers` and inputs of the
    * answers are empty.
    */
  def list(
      namespace: Option[String],
      name: Option[String],
      state: Option[FlareState],
      limit: Int,
      skip: Int,
      groups: Boolean = false
  ): Vector[Flare]

  /** All that have not ended, with their inputs `OutOfLine`, oldest first: what a starting controller must
    * take up or report failed. From then on they are written, and new ones added, through this store alone.
    */
  def takeUnfinished(): Vector[Flare]

  /** Those of these flares that were written through this store and have not ended, as `takeUnfinished` has
    * them.
    */
  def unfinished(ids: Vector[FlareId]): Vector[Flare]

  def phases(id: FlareId): Vector[PhaseMark]

  /** Forgets what an attempt left (results, logs, phases) before the next one. */
  def clearAttempt(id: FlareId): Unit

  /** Those of these flares that are not stored (any more), and those that have ended. */
  def unknown(ids: Vector[FlareId]): Vector[FlareId]
  def ended(ids: Vector[FlareId]): Vector[FlareId]

  /** Groups are not counted. */
  def countByState(): Map[FlareState, Int]

  /** Namespaces that have flares. */
  def namespaces(): Vector[String]

  /** The end of the newest ended flare of a namespace that is not to be kept, if there is any. */
  def outdated(namespace: String, keep: Keep): Option[Timestamp]

  /** Deletes the oldest ended flares of a namespace with all they left, those that ended at that time or
    * before: up to `batch`, and fewer when they are large, so that others who write need not wait for long.
    * None when none is left.
    */
  def prune(namespace: String, until: Timestamp, batch: Int): Pruned

/** How many flares were deleted, and which of them may have blobs. */
final case class Pruned(flares: Int, withBlobs: Vector[FlareId])

/** Which ended flares of a namespace are kept: those that ended no earlier than `endedSince`, the newest
  * `flares` of them, as long as they take no more than `bytes` together. The newest is kept whatever it
  * takes.
  */
final case class Keep(flares: Int, endedSince: Timestamp, bytes: Long)

/** Counts the schedulers there have been, so that of two the later one is known. */
trait EpochStore:
  /** A number higher than any before, whoever asked for them. */
  def next(): Long

  /** The highest so far; 0 before the first. */
  def present(): Long

/** The machines that the administrator wants given no more flares, until they are resumed. */
trait DrainedInvokers:
  def all(): Set[InvokerId]
  def add(id: InvokerId): Unit

  /** Whether it was one. */
  def remove(id: InvokerId): Boolean

/** Results are read some workers' at a time: nobody needs to hold all of them. */
trait ResultReader:
  /** The attempt a flare is at. It is stored before anything of the attempt is. */
  def attempt(id: FlareId): Option[Int]

  /** Of the workers from the first number up to, not with, the second. */
  def results(id: FlareId, from: Int, until: Int): Vector[WorkerResult]

/** Logs are read in parts: nobody needs to hold a whole one. */
trait LogReader:
  /** How far the log goes now; of a flare that is not there, nowhere. */
  def logExtent(id: FlareId): LogExtent

  /** The part of a log that begins at `from`, which is before `until`: a MiB or so. Nothing when the log has
    * been cleared since its extent was asked for.
    */
  def logPart(id: FlareId, from: Long, until: Long): Option[LogPart]

/** Where a log begins and ends, in units of the store, and whether more was written than is kept. */
final case class LogExtent(from: Long, until: Long, truncated: Boolean):
  /** What of it is not before this position. */
  def since(position: Long): LogExtent = copy(from = from.max(position).min(until))

/** A part of a log, in the order it arrived, and where the next one begins. */
final case class LogPart(texts: Vector[LogText], next: Long)

/** A caller: the namespace its key opens. `uuid` is that half of its credentials which says which they are,
  * where programs that it calls may have a key.
  */
final case class Identity(namespace: String, limits: NamespaceLimits, uuid: Option[String] = None)

/** A namespace as the platform knows it, with the name of its credentials. */
final case class Namespace(
    name: String,
    limits: NamespaceLimits,
    created: Timestamp,
    revoked: Option[Timestamp],
    uuid: String
):
  /** As whoever acts for it without its key. */
  def identity: Identity = Identity(name, limits, Some(uuid))

/** A namespace with the key pair `uuid:key` that it just got, the only time that is seen in clear. Whoever
  * has to show the one needs nothing more of the database, which may fail by then.
  */
final case class Issued(namespace: Namespace, credentials: String)

trait NamespaceStore:
  /** The identity behind a key pair, or nothing; takes the same time either way. A program's key, which it
    * has until its deadline, opens what its caller's does.
    */
  def authenticate(uuid: String, key: String): Option[Identity]

  /** Creates a namespace with a fresh key pair; nothing when it exists. With `overwrite` an existing one,
    * revoked or not, gets these limits and a fresh pair; the old one opens nothing any more.
    */
  def issue(namespace: String, limits: OwnLimits, overwrite: Boolean): Option[Issued]

  /** The same for who needs the key pair alone. */
  final def create(
      namespace: String,
      limits: OwnLimits = OwnLimits(),
      overwrite: Boolean = false
  ): Option[String] = issue(namespace, limits, overwrite).map(_.credentials)

  /** Creates the namespace of whoever starts the platform, as [[create]] does. Its key may be renewed. */
  def establish(namespace: String): Option[String]

  /** Replaces a key pair that the platform itself made, for an owner who lost it. Nothing when there is none:
    * what an administrator has created, replaced or revoked stays as he left it.
    */
  def renewKey(namespace: String): Option[String]

  /** Gives one that is not revoked a fresh key pair, and leaves it otherwise as it is: the old pair opens
    * nothing any more. Nothing when there is none.
    */
  def replaceKey(namespace: String): Option[Issued]

  /** Gives a namespace these limits, and leaves it those that are not named, and its key. */
  def limit(namespace: String, limits: OwnLimits): Option[Namespace]

  /** From its return on the key pair opens nothing, on no controller. What the namespace has stays. */
  def revoke(namespace: String): Option[Namespace]
  def revoked(): Set[String]
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

/** Nothing was written: the same request, or another one by the same key, was stored before. */
final class AlreadySubmitted
    extends StoreException("storing a flare", null, "a flare was submitted by that key before")

/** Nothing was written: another controller has taken the flare over, or it has ended. Trying again is of no
  * use.
  */
final class FlareTaken(id: FlareId)
    extends StoreException(
      "storing a flare",
      null,
      s"the flare ${id.value} has ended already or belongs to another controller now"
    )
