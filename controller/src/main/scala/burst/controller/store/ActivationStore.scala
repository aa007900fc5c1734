package burst.controller.store

import burst.controller.flare.{Flare, Output, Submission}
import burst.protocol.{FlareId, JsonText, Timestamp}
import io.circe.JsonObject
import scala.concurrent.duration.FiniteDuration

/** Records of invocations as OpenWhisk's clients see them: of flares that were begun as invocations, and of
  * other things. Calls block. Leases use the database's clock ([[Database.now]]), as one controller writes
  * them and another compares them.
  */
trait ActivationStore:
  /** Finds a record that has ended. */
  def find(namespace: String, id: FlareId): Option[StoredActivation]

  /** Finds records of flares whose ids differ from this one in the last eight digits at most. */
  def findNear(namespace: String, id: FlareId): Vector[StoredActivation]

  /** Lists records that have ended, the one that began last first. */
  def list(namespace: String, filter: ActivationFilter, limit: Int, skip: Int): Vector[StoredActivation]
  def count(namespace: String, filter: ActivationFilter): Long

  /** Stores a record that is still open, with the content it is to have if nobody ends it; it becomes visible
    * once its lease has lapsed. Throws [[AlreadySubmitted]] as `FlareStore.write` does. A record without a
    * submission may be stored twice.
    */
  def open(record: OpenRecord, recordLease: FiniteDuration): Unit

  /** Returns which of these are stored and open. */
  def areOpen(ids: Vector[FlareId]): Set[FlareId]

  /** Renews the leases of these. */
  def renew(ids: Vector[FlareId], recordLease: FiniteDuration): Unit

  /** Stores how something ended, whether its record is open or new. */
  def close(record: OpenRecord, ended: Timestamp, result: JsonText, logs: Vector[String]): Unit

  /** Ends the records whose lease lapsed more than this long ago; returns how many. */
  def endAbandoned(over: FiniteDuration, now: Timestamp): Int

/** A record that is not of a flare; `fields` has what only its readers interpret. */
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
  *   the flare, in a list without the packs of large ones; or the fields of any other record
  * @param abandoned
  *   when the record was ended because its controller was gone
  * @param output
  *   the output of the first worker; in a list only if it may contain an error
  */
final case class StoredActivation(
    id: FlareId,
    namespace: String,
    body: Either[JsonObject, Flare],
    abandoned: Option[Timestamp],
    output: Option[Output],
    logs: Vector[String]
)
