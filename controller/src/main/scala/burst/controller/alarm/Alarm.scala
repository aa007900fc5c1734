package burst.controller.alarm

import io.circe.JsonObject
import java.time.Instant

/** A trigger's alarm.
  *
  * @param due
  *   when it fires next; nothing while it is paused, or after its last time
  * @param remaining
  *   how many more times it fires, if somebody has set a number
  * @param reason
  *   why it no longer fires
  * @param changed
  *   when it was last set or stopped
  */
final case class Alarm(
    namespace: String,
    trigger: String,
    schedule: Schedule,
    payload: JsonObject,
    due: Option[Instant],
    remaining: Option[Long],
    reason: Option[String],
    changed: Instant
):
  /** The alarm once it has fired: that firing makes up for all times that have passed. */
  def fired(now: Instant): Alarm =
    val left = remaining.map(_ - 1)
    val next = if left.contains(0L) then None else schedule.after(now)
    val reason = if left.contains(0L) then "it has fired as often as maxTriggers says"
    else "it has fired for the last time"
    if next.isDefined then copy(due = next, remaining = left)
    else copy(remaining = left).stopped(reason, now)

  def stopped(reason: String, now: Instant): Alarm =
    copy(due = None, reason = Some(reason), changed = now)

  /** The alarm when it resumes: missed times are not made up for. */
  def resumed(now: Instant): Alarm =
    copy(due = schedule.after(now).filter(_ => remaining.forall(_ > 0)), reason = None, changed = now)
