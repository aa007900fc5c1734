package burst.controller.action

import burst.controller.definition.Parameters
import burst.controller.store.{ActionPackageStore, DefinitionStore, Identity}

/** Actions as they are stored. */
final class StoredActions(definitions: DefinitionStore, packages: ActionPackageStore) extends Actions:
  import ActionProblem.*

  def find(caller: Identity, name: ActionName): Either[ActionProblem, Action] =
    find(caller.namespace, name)

  def find(name: ActionName): Either[ActionProblem, Action] = find(name.namespace, name)

  private def find(reader: String, name: ActionName): Either[ActionProblem, Action] =
    name.packageName match
      case None if name.namespace != reader => Left(NotEntitled)
      case None => stored(name, name, Parameters.Empty)
      case Some(inPackage) =>
        for
          named <- openPackage(reader, name.namespace, inPackage)
          found <- named.binding match
            case None => stored(name, name, named.parameters)
            case Some(target) =>
              openPackage(reader, target.namespace, target.name).flatMap: bound =>
                val there = ActionName(bound.namespace, Some(bound.name), name.name)
                stored(name, there, named.parameters.over(bound.parameters))
        yield found

  /** A package that somebody may read. Whether there is one that he may not read is not told. */
  private def openPackage(reader: String, namespace: String, name: String) =
    packages.find(namespace, name) match
      case Some(found) if found.isOpenTo(reader) => Right(found)
      case None if namespace == reader => Left(NoSuchPackage(name))
      case _ => Left(NotEntitled)

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
