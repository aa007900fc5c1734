package burst.controller.action

import burst.controller.definition.{ActionPackage, Parameters}
import burst.controller.store.ActionPackageStore

/** Packages as somebody may read them. */
final class OpenPackages(packages: ActionPackageStore):
  /** One that he may read. Whether there is one that he may not read is not told. Blocks. */
  def find(reader: String, namespace: String, name: String): Either[ActionProblem, ActionPackage] =
    packages.find(namespace, name) match
      case Some(found) if found.isOpenTo(reader) => Right(found)
      case None if namespace == reader => Left(ActionProblem.NoSuchPackage(name))
      case _ => Left(ActionProblem.NotEntitled)

  /** What is behind one, for somebody who may read that, too. Blocks. */
  def behind(reader: String, found: ActionPackage): Either[ActionProblem, OpenPackages.Behind] =
    found.binding match
      case None => Right(OpenPackages.Behind(found, found.parameters))
      case Some(target) =>
        find(reader, target.namespace, target.name).map: bound =>
          OpenPackages.Behind(bound, found.parameters.over(bound.parameters))

object OpenPackages:
  /** The package that a binding binds, or one itself; and what its actions are given by both. */
  final case class Behind(there: ActionPackage, parameters: Parameters)
