package burst.controller.action

import burst.controller.store.{DefinitionStore, Identity}
import io.circe.JsonObject

/** Actions of a namespace's own, as they are deployed. */
final class StoredActions(definitions: DefinitionStore) extends Actions:
  def find(caller: Identity, name: ActionName): Either[ActionProblem, Action] =
    if name.namespace == caller.namespace then find(name) else Left(ActionProblem.NotEntitled)

  def find(name: ActionName): Either[ActionProblem, Action] =
    definitions
      .find(name.namespace, name.path)
      .map: definition =>
        val (atStart, parameters) =
          definition.parameters.toVector.partition((key, _) => definition.action.initParameters(key))
        Action(name, definition, JsonObject.fromIterable(parameters), JsonObject.fromIterable(atStart))
      .toRight(ActionProblem.NoSuchAction(name))
