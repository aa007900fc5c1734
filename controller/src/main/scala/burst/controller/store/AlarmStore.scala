package burst.controller.store

import burst.controller.alarm.Alarm
import java.time.Instant

/** Why an alarm is not stored. */
enum AlarmRefusal:
  case NoTrigger, Exists

/** Alarms of triggers, at most one per trigger. Calls block. They are deleted with their triggers. */
trait AlarmStore:
  def find(namespace: String, trigger: String): Option[Alarm]
  def create(alarm: Alarm): Either[AlarmRefusal, Unit]

  /** Returns alarms that are due, the longest overdue first, except those of some namespaces. */
  def due(now: Instant, most: Int, but: Set[String] = Set.empty): Vector[Alarm]

  /** Replaces `present` by `next`, unless somebody has changed or fired it since it was read: of several
    * controllers only one succeeds.
    */
  def replace(present: Alarm, next: Alarm): Boolean
  def delete(namespace: String, trigger: String): Unit
