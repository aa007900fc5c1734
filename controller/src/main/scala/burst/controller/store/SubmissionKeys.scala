package burst.controller.store

import burst.controller.flare.{Submission, Submitted}
import burst.protocol.Timestamp
import scala.concurrent.duration.FiniteDuration
import scalikejdbc.*

/** Keys of submissions, in the table of flares: in a namespace each belongs to one flare, or other record,
  * while that is kept, and for a limited time.
  */
private[store] final class SubmissionKeys(keptFor: FiniteDuration):
  def find(namespace: String, key: String)(using DBSession): Option[Submitted] =
    sql"""SELECT id, submission_digest FROM flare
          WHERE namespace = $namespace AND submission_key = $key AND created > $since"""
      .row(row => Submitted(Stored.flareId(row.string("id")), row.string("submission_digest")))

  /** Runs an insert with this key, a statement that does nothing if the key is taken
    * ([[SubmissionKeys.Free]]) and that, with concurrent writers, waits for any other holder of the key.
    * Throws [[AlreadySubmitted]] if it is taken.
    */
  def taking(namespace: String, submission: Option[Submission])(insert: => Int)(using DBSession): Unit =
    val isStored = insert > 0 || submission.exists(own => forgetOld(namespace, own.key) && insert > 0)
    if !isStored then throw AlreadySubmitted()

  private def forgetOld(namespace: String, key: String)(using DBSession): Boolean =
    val forgotten =
      sql"""UPDATE flare SET submission_key = NULL, submission_digest = NULL
            WHERE namespace = $namespace AND submission_key = $key AND created <= $since""".update()
    forgotten > 0

  private def since: Timestamp = Timestamp.now() - keptFor

private[store] object SubmissionKeys:
  val Free: SQLSyntax =
    sqls"ON CONFLICT (namespace, submission_key) WHERE submission_key IS NOT NULL DO NOTHING"
