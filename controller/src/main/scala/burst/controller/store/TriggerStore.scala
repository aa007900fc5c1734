package burst.controller.store

import burst.controller.trigger.*

/** Triggers of namespaces. Calls block, and are atomic (see [[DefinitionStore]]). */
trait TriggerStore:
  def find(namespace: String, name: String): Option[Trigger]

  /** Newest first, without parameters and rules. */
  def list(namespace: String, limit: Int, skip: Int): Vector[Trigger]
  def count(namespace: String): Int

  /** Creates one, or with `overwrite` changes the one that is there, whose rules stay. `most` is how many the
    * namespace may have.
    */
  def put(
      namespace: String,
      name: String,
      overwrite: Boolean,
      change: TriggerChange,
      most: Int,
      now: Long
  ): Either[TriggerRefusal, Trigger]

  /** Its rules stay, and are inactive from now on; its alarm goes with it. */
  def delete(namespace: String, name: String): Option[Trigger]

trait RuleStore:
  def find(namespace: String, name: String): Option[Rule]

  /** Newest first. */
  def list(namespace: String, limit: Int, skip: Int): Vector[Rule]
  def count(namespace: String): Int

  /** Creates an active one, or with `overwrite` changes the one that is there, whose status stays. Its
    * trigger has to be there; whether its action is, is not looked at.
    */
  def put(
      namespace: String,
      name: String,
      overwrite: Boolean,
      change: RuleChange,
      most: Int,
      now: Long
  ): Either[TriggerRefusal, Rule]

  /** Also attaches one to its trigger whose former trigger was deleted. */
  def setStatus(namespace: String, name: String, status: RuleStatus): Either[TriggerRefusal, Unit]
  def delete(namespace: String, name: String): Option[Rule]
