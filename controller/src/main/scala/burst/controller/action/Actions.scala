package burst.controller.action

import burst.controller.definition.Definition
import burst.controller.json.Defaults
import burst.controller.store.Identity
import io.circe.JsonObject

/** An action as a caller reaches it.
  *
  * @param name
  *   the name it was requested by: through a binding, one in the binding
  * @param definition
  *   the definition that runs; through a binding, one of the package that it binds
  * @param parameters
  *   those of package, binding and action, each overriding the ones before, without those for the start
  * @param initParameters
  *   those for the start of the program
  */
final case class Action(
    name: ActionName,
    definition: Definition,
    parameters: JsonObject,
    initParameters: JsonObject
):
  /** The name of the action itself, wherever it is. */
  def target: ActionName = ActionName.of(definition.namespace, definition.name)

  def annotations: JsonObject = definition.action.annotations

  /** The parameters as defaults for a payload. */
  lazy val defaults: Defaults = Defaults.of(parameters)

  /** How many bytes they add to a call; a sequence has none. */
  def growth: Int = if Composition.isSequence(this) then 0 else defaults.length

/** Why a caller cannot reach an action. */
enum ActionProblem:
  case NoSuchAction(name: ActionName)
  case NoSuchPackage(name: String)

  /** It is in another namespace, and not in a published package. */
  case NotEntitled

trait Actions:
  /** Returns the action that a caller may invoke by this name: one of its own, or of a published package.
    * Blocks.
    */
  def find(caller: Identity, name: ActionName): Either[ActionProblem, Action]

  /** Returns an action whoever the caller is: for web actions, which run as their owner. Blocks. */
  def find(name: ActionName): Either[ActionProblem, Action]
