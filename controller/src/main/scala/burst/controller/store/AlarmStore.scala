package burst.controller.store

import burst.controller.alarm.Alarm
import java.time.Instant

/** Why an alarm is not stored. */
enum AlarmRefusal:
  case NoTrigger, Exists

/** Alarms of triggers, each at most one. Calls block. They are deleted with their triggers. */
trait AlarmStore:
  def find(namespace: String, trigger: String): Option[Alarm]
  def create(alarm: Alarm): Either[AlarmRefusal, Unit]

  /** Those that are due, the one that has been for longest first, but for some namespaces'. */
  def due(now: Instant, most: Int, but: Set[String] = Set.empty): Vector[Alarm]

  /** Stores `next` in place of `present`, unless somebody has changed or fired that since it was read: of
    * several controllers one alone succeeds.
    */
  def replace(present: Alarm, next: Alarm): Boolean
  def delete(namespace: String, trigger: String): Unit
