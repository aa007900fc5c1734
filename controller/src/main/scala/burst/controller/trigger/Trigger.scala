package burst.controller.trigger

import burst.controller.definition.EntityName
import burst.protocol.Timestamp
import io.circe.JsonObject

/** An event that can be fired: each active rule then runs its action.
  *
  * @param rules
  *   those attached to it, by name; nothing if it never had any
  */
final case class Trigger(
    namespace: String,
    name: String,
    version: String,
    publish: Boolean,
    parameters: JsonObject,
    annotations: JsonObject,
    rules: Option[Vector[AttachedRule]],
    updated: Timestamp
)

/** A rule as its trigger stores it. */
final case class AttachedRule(name: String, action: EntityRef, status: RuleStatus)

/** The full name of a trigger or an action: `NAMESPACE` or `NAMESPACE/PACKAGE`, and its name there. */
final case class EntityRef(path: String, name: String):
  def qualified: String = s"/$path/$name"

/** Whether a rule's action runs when its trigger is fired. */
enum RuleStatus(val text: String):
  case Active extends RuleStatus("active")
  case Inactive extends RuleStatus("inactive")

object RuleStatus:
  def of(text: String): Option[RuleStatus] = values.find(_.text == text)

/** Runs an action when a trigger of its namespace is fired. */
final case class Rule(
    namespace: String,
    name: String,
    version: String,
    publish: Boolean,
    trigger: String,
    action: EntityRef,
    status: RuleStatus,
    annotations: JsonObject,
    updated: Timestamp
)

/** The changes to a trigger in a request; absent fields stay unchanged. */
final case class TriggerChange(
    version: Option[String] = None,
    publish: Option[Boolean] = None,
    parameters: Option[JsonObject] = None,
    annotations: Option[JsonObject] = None
):
  /** Whether its feed, if any, is a name, with or without namespace and package. The feed's parameters are
    * its own business; but clients will invoke it.
    */
  def hasFeedName: Boolean =
    annotations.flatMap(_("feed")).forall(_.asString.exists(TriggerChange.isFeedName))

object TriggerChange:
  private def isFeedName(text: String): Boolean =
    val parts = text.stripPrefix("/").split("/", -1)
    parts.lengthIs <= 3 && parts.forall(EntityName.isValid)

/** The changes to a rule in a request; absent fields stay unchanged. */
final case class RuleChange(
    version: Option[String] = None,
    publish: Option[Boolean] = None,
    trigger: Option[String] = None,
    action: Option[EntityRef] = None,
    annotations: Option[JsonObject] = None
)

/** Why a trigger or a rule is not stored, or not changed. */
enum TriggerRefusal:
  case Exists(name: String)

  /** An entity of another collection has that name. */
  case NameTaken(name: String, by: String)

  /** The namespace has reached its limit. */
  case TooMany(allowed: Int)

  /** A feed must be valid when its trigger is created. */
  case InvalidFeed

  /** A rule must have both when it is created. */
  case NoTriggerOrAction

  /** The trigger to which a rule would be attached does not exist. */
  case NoTriggerFor(name: String)
  case NoSuchRule(name: String)

  /** The rule exists, its trigger does not. */
  case TriggerGone(name: String)
