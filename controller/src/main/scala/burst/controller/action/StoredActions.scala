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
          behind <- open.behind(reader, named)
          there = ActionName(behind.there.namespace, Some(behind.there.name), name.name)
          found <- stored(name, there, behind.parameters)
        yield found

  private def stored(
      asked: ActionName,
      there: ActionName,
      below: Parameters
  ): Either[ActionProblem, Action] =
    definitions
      .find(there.namespace, there.path)
      .toRight(NoSuchAction(asked))
      .map: definition =>
        val all = definition.all.over(below)
        Action(asked, definition, all.ofInputs, all.ofStart)
