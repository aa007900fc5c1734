package burst.controller.action

import burst.controller.definition.Parameters
import burst.controller.store.{ActionPackageStore, DefinitionStore, Identity}

/** Actions as they are stored. */
final class StoredActions(definitions: DefinitionStore, packages: ActionPackageStore) extends Actions:
  import ActionProblem.*

  private val open = OpenPackages(packages)

  def find(caller: Identity, name: ActionName): Either[ActionProblem, Action] =
    find(caller.namespace, name)

  def find(name: ActionName): Either[ActionProblem, Action] = find(name.namespace, name)

  private def find(reader: String, name: ActionName): Either[ActionProblem, Action] =
    name.packageName match
      case None if name.namespace != reader => Left(NotEntitled)
      case None => stored(name, name, Parameters.Empty)
      case Some(inPackage) =>
        for
          named <- open.find(reader, name.namespace, inPackage)
          resolved <- open.resolve(reader, named)
          target = ActionName(resolved.actionPackage.namespace, Some(resolved.actionPackage.name), name.name)
          found <- stored(name, target, resolved.parameters)
        yield found

  private def stored(
      name: ActionName,
      target: ActionName,
      inherited: Parameters
  ): Either[ActionProblem, Action] =
    definitions
      .find(target.namespace, target.path)
      .toRight(NoSuchAction(name))
      .map: definition =>
        val all = definition.all.over(inherited)
        Action(name, definition, all.ofInputs, all.ofStart)
