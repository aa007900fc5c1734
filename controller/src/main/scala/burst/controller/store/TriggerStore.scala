package burst.controller.store

import burst.controller.trigger.*
import burst.protocol.Timestamp

/** Entities of one kind, changed by what requests say of them. Calls block, and are atomic (see
  * [[DefinitionStore]]).
  */
trait EntityStore[E, C]:
  def find(namespace: String, name: String): Option[E]

  /** Newest first; triggers are without parameters and rules. */
  def list(namespace: String, limit: Int, skip: Int): Vector[E]
  def count(namespace: String): Int

  /** Creates one, or with `overwrite` changes the one that is there. `most` is how many the namespace may
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

/** Rules of one that is changed stay. Those of one that is deleted stay, too, and are inactive from then on;
  * its alarm goes with it.
  */
type TriggerStore = EntityStore[Trigger, TriggerChange]

/** One that is created is active, one that is changed stays as it is. Its trigger has to be there; whether
  * its action is, is not looked at.
  */
trait RuleStore extends EntityStore[Rule, RuleChange]:
  /** Also attaches one to its trigger whose former trigger was deleted. */
  def setStatus(namespace: String, name: String, status: RuleStatus): Either[TriggerRefusal, Unit]
