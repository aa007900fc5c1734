package burst.controller.http

import burst.controller.limits.MinuteUsed
import burst.controller.trigger.TriggerRefusal
import org.apache.pekko.http.scaladsl.model.StatusCode
import org.apache.pekko.http.scaladsl.model.StatusCodes.*

/** Why a request about a trigger or a rule is refused. Words that OpenWhisk's clients look for in an answer
  * are the same as in OpenWhisk's.
  */
enum TriggerProblem:
  case NoSuchTrigger(name: String)
  case NoSuchAction(name: String)
  case NoStatus
  case NotStored(refusal: TriggerRefusal)
  case FiresLimited(used: MinuteUsed)

object TriggerProblem:
  /** Returns a status, and a sentence that says what to do. */
  def describe(problem: TriggerProblem): (StatusCode, String) = problem match
    case NoSuchTrigger(name) => missing(s"trigger '$name'")
    case NoSuchAction(name) => BadRequest -> s"The rule's action '$name' does not exist; create it first."
    case NoStatus => BadRequest -> "The field 'status' must be one of: active, inactive."
    case NotStored(refusal) => describe(refusal)
    case FiresLimited(used) => TooManyRequests -> ApiError.tooMany("triggers fired", used)

  private def describe(refusal: TriggerRefusal): (StatusCode, String) = refusal match
    case TriggerRefusal.Exists(name) =>
      Conflict -> s"'$name' is there already (resource already exists); update it (`overwrite=true`) to replace it."
    case TriggerRefusal.NameTaken(name, by) =>
      Conflict -> s"'$name' is the name of another resource, which is of the ${by}s (resource already exists); choose another name."
    case TriggerRefusal.TooMany(allowed) =>
      ContentTooLarge -> s"This namespace may have at most $allowed of these, and has as many; remove one."
    case TriggerRefusal.InvalidFeed => EntityProblem.describe(EntityProblem.InvalidName("annotations.feed"))
    case TriggerRefusal.NoTriggerOrAction =>
      BadRequest -> "A rule requires a valid trigger and a valid action; send 'trigger' and 'action'."
    case TriggerRefusal.NoTriggerFor(name) =>
      BadRequest -> s"The rule's trigger '$name' does not exist; create it first."
    case TriggerRefusal.NoSuchRule(name) => missing(s"rule '$name'")
    case TriggerRefusal.TriggerGone(name) =>
      NotFound -> s"Only rules with existing triggers can be activated; create the trigger '$name' first."

  private def missing(what: String): (StatusCode, String) =
    NotFound -> s"The requested resource does not exist: there is no $what."
