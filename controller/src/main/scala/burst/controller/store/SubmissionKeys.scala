package burst.controller.store

import burst.controller.flare.{Submission, Submitted}
import burst.protocol.Timestamp
import scala.concurrent.duration.FiniteDuration
import scalikejdbc.*

/** Keys of submissions, in the table of flares: of a namespace each stands for one flare, or record of what
  * is none, as long as that is kept, and for so long at most.
  */
private[store] final class SubmissionKeys(keptFor: FiniteDuration):
  def find(namespace: String, key: String)(using DBSession): Option[Submitted] =
    sql"""SELECT id, submission_digest FROM flare
          WHERE namespace = $namespace AND submission_key = $key AND created > $since"""
      .row(row => Submitted(Stored.flareId(row.string("id")), row.string("submission_digest")))

  /** Inserts what has this key, by a statement that does nothing where it is taken ([[SubmissionKeys.Free]]):
    * where others write at the same time, that waits for who else has it. Throws [[AlreadySubmitted]] where
    * it is taken.
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
