package burst.controller.store

import burst.controller.trigger.*
import burst.protocol.Timestamp

/** Entities of one kind, changed as requests ask. Calls block, and are atomic (see [[DefinitionStore]]). */
trait EntityStore[E, C]:
  def find(namespace: String, name: String): Option[E]

  /** Lists entities, newest first; triggers lack parameters and rules. */
  def list(namespace: String, limit: Int, skip: Int): Vector[E]
  def count(namespace: String): Int

  /** Creates an entity, or with `overwrite` changes the stored one. `most` is how many the namespace may
    * have.
    */
  def put(
      namespace: String,
      name: String,
      overwrite: Boolean,
      change: C,
      most: Int,
      now: Timestamp
  ): Either[TriggerRefusal, E]

  def delete(namespace: String, name: String): Option[E]

/** The store of triggers. If a trigger is changed, its rules stay. If it is deleted, they stay, too, but
  * become inactive; its alarm is deleted with it.
  */
type TriggerStore = EntityStore[Trigger, TriggerChange]

/** The store of rules. A new rule is active, a changed one keeps its status. Its trigger must exist; its
  * action is not checked.
  */
trait RuleStore extends EntityStore[Rule, RuleChange]:
  /** Sets a rule's status, which also attaches it to a new trigger of that name if its former one was
    * deleted.
    */
  def setStatus(namespace: String, name: String, status: RuleStatus): Either[TriggerRefusal, Unit]
