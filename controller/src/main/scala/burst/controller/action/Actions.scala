package burst.controller.action

import burst.controller.definition.Definition
import burst.controller.json.Defaults
import burst.controller.store.Identity
import io.circe.JsonObject

/** An action as a caller reaches it.
  *
  * @param name
  *   what it was asked for by: through a binding, that of the binding
  * @param definition
  *   what runs; through a binding, that of the package which it binds
  * @param parameters
  *   of package, binding and action, each over those before, but not those for the start
  * @param initParameters
  *   those for the start of the program
  */
final case class Action(
    name: ActionName,
    definition: Definition,
    parameters: JsonObject,
    initParameters: JsonObject
):
  /** The action itself, wherever it is. */
  def target: ActionName = ActionName.of(definition.namespace, definition.name)

  def annotations: JsonObject = definition.action.annotations

  /** The parameters as they are put under what is given. */
  lazy val defaults: Defaults = Defaults.of(parameters)

  /** Bytes by which they make a call larger; a sequence has none. */
  def growth: Int = if Composition.isSequence(this) then 0 else defaults.length

/** Why a caller does not reach an action. */
enum ActionProblem:
  case NoSuchAction(name: ActionName)
  case NoSuchPackage(name: String)

  /** In somebody else's namespace, and not in a published package. */
  case NotEntitled

trait Actions:
  /** The action that a caller may invoke by this name: one of his own, or of a published package. Blocks. */
  def find(caller: Identity, name: ActionName): Either[ActionProblem, Action]

  /** Whoever asks: for web actions, which run as their owner. Blocks. */
  def find(name: ActionName): Either[ActionProblem, Action]
