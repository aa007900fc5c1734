package burst.controller.action

import burst.controller.definition.{ActionPackage, Parameters}
import burst.controller.store.ActionPackageStore

/** Packages that a reader may see. */
final class OpenPackages(packages: ActionPackageStore):
  /** Finds a package that the reader may see. Whether there is one that the reader may not see is not
    * disclosed. Blocks.
    */
  def find(reader: String, namespace: String, name: String): Either[ActionProblem, ActionPackage] =
    packages.find(namespace, name) match
      case Some(found) if found.isOpenTo(reader) => Right(found)
      case None if namespace == reader => Left(ActionProblem.NoSuchPackage(name))
      case _ => Left(ActionProblem.NotEntitled)

  /** Returns the package behind a binding, or the package itself, if the reader may see that, too. Blocks. */
  def resolve(reader: String, found: ActionPackage): Either[ActionProblem, OpenPackages.Resolved] =
    found.binding match
      case None => Right(OpenPackages.Resolved(found, found.parameters))
      case Some(target) =>
        find(reader, target.namespace, target.name).map: bound =>
          OpenPackages.Resolved(bound, found.parameters.over(bound.parameters))

object OpenPackages:
  /** The package that a binding binds, or one itself; and the parameters that both give to its actions. */
  final case class Resolved(actionPackage: ActionPackage, parameters: Parameters)
