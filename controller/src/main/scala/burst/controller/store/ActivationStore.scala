package burst.controller.store

import burst.controller.flare.{Flare, Output, Submission}
import burst.protocol.{FlareId, JsonText, Timestamp}
import io.circe.JsonObject
import scala.concurrent.duration.FiniteDuration

/** Records of invocations as OpenWhisk's clients see them: of flares that were begun as such, and of what is
  * no flare. Calls block. Leases go by the database's clock ([[Database.now]]), as one controller writes them
  * and another compares them.
  */
trait ActivationStore:
  /** One that has ended. */
  def find(namespace: String, id: FlareId): Option[StoredActivation]

  /** The same, of a flare whose id differs from this one in its last eight digits at most. */
  def findNear(namespace: String, id: FlareId): Vector[StoredActivation]

  /** Those that have ended, the one first that began last. */
  def list(namespace: String, filter: ActivationFilter, limit: Int, skip: Int): Vector[StoredActivation]
  def count(namespace: String, filter: ActivationFilter): Long

  /** Stores what goes on here, as it is to read should nobody end it; that is known once its lease is over.
    * Throws [[AlreadySubmitted]] as `FlareStore.insert` does. One without a submission may be stored twice.
    */
  def open(record: OpenRecord, recordLease: FiniteDuration): Unit

  /** Those of these that are stored and open. */
  def areOpen(ids: Vector[FlareId]): Set[FlareId]

  /** Goes on with these. */
  def renew(ids: Vector[FlareId], recordLease: FiniteDuration): Unit

  /** Stores how something ended, be it open or new. */
  def close(record: OpenRecord, ended: Timestamp, result: JsonText, logs: Vector[String]): Unit

  /** Ends those whose lease has been over for more than this. */
  def endAbandoned(over: FiniteDuration, now: Timestamp): Int

/** A record of what is no flare; what only its readers know of it is in `fields`. */
final case class OpenRecord(
    id: FlareId,
    namespace: String,
    name: String,
    created: Timestamp,
    fields: JsonObject,
    submission: Option[Submission] = None
)

/** @param name
  *   `NAME` or `PACKAGE/NAME`
  */
final case class ActivationFilter(
    name: Option[String] = None,
    since: Option[Timestamp] = None,
    upto: Option[Timestamp] = None
)

/** @param body
  *   the flare, in a list without what large ones have of packs; or the fields of a record that is none
  * @param abandoned
  *   when nobody was left to end it
  * @param output
  *   of the first worker; in a list nothing unless it may say of an error
  */
final case class StoredActivation(
    id: FlareId,
    namespace: String,
    body: Either[JsonObject, Flare],
    abandoned: Option[Timestamp],
    output: Option[Output],
    logs: Vector[String]
)
