package burst.controller.trigger

import burst.controller.definition.EntityName
import burst.protocol.Timestamp
import io.circe.JsonObject

/** What may be fired: runs the action of each rule that is active.
  *
  * @param rules
  *   those attached to it, by name; nothing when it never had any
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

/** A rule as its trigger knows it. */
final case class AttachedRule(name: String, action: EntityRef, status: RuleStatus)

/** Where a trigger or an action is: `NAMESPACE` or `NAMESPACE/PACKAGE`, and its name there. */
final case class EntityRef(path: String, name: String):
  def qualified: String = s"/$path/$name"

/** Whether a rule's action runs when its trigger is fired. */
enum RuleStatus(val text: String):
  case Active extends RuleStatus("active")
  case Inactive extends RuleStatus("inactive")

object RuleStatus:
  def of(text: String): Option[RuleStatus] = values.find(_.text == text)

/** Has an action run when a trigger of its namespace is fired. */
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

/** What a request says of a trigger; what it leaves out stays as it is. */
final case class TriggerChange(
    version: Option[String] = None,
    publish: Option[Boolean] = None,
    parameters: Option[JsonObject] = None,
    annotations: Option[JsonObject] = None
):
  /** Whether what it says of a feed is a name, with its namespace and package or without. What that needs is
    * its own business; but clients will call it.
    */
  def hasFeedName: Boolean =
    annotations.flatMap(_("feed")).forall(_.asString.exists(TriggerChange.isFeedName))

object TriggerChange:
  private def isFeedName(text: String): Boolean =
    val parts = text.stripPrefix("/").split("/", -1)
    parts.lengthIs <= 3 && parts.forall(EntityName.isValid)

/** The same of a rule. */
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

  /** Something of another collection is called so. */
  case NameTaken(name: String, by: String)

  /** The namespace has as many as it may have. */
  case TooMany(allowed: Int)

  /** A trigger's feed is called so from the start. */
  case InvalidFeed

  /** A rule needs them from the start. */
  case NoTriggerOrAction

  /** What a rule would be attached to. */
  case NoTriggerFor(name: String)
  case NoSuchRule(name: String)

  /** The rule is there, its trigger is not. */
  case TriggerGone(name: String)
