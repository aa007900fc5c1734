package burst.controller.store

import burst.controller.definition.{ActionPackage, PackageName}
import burst.controller.limits.NamespaceLimits
import burst.protocol.PackageId

/** Packages of actions and bindings. Calls block, as in all stores. */
trait ActionPackageStore:
  def find(namespace: String, name: String): Option[ActionPackage]

  /** Lists packages, newest first: all, or only published ones. The parameters of the results are empty. */
  def list(namespace: String, published: Boolean, limit: Int, skip: Int): Vector[ActionPackage]

  def count(namespace: String, published: Boolean): Int

  /** Creates or replaces a package with what `next` returns for the stored one. */
  def edit(namespace: String, name: String, limits: NamespaceLimits)(
      next: Option[ActionPackage] => Either[PackageRefusal, ActionPackage]
  ): Either[PackageRefusal, ActionPackage]

  /** Deletes a package without actions, or, with `force`, also the actions in it. */
  def delete(namespace: String, name: String, force: Boolean): Either[PackageRefusal, PackageDeleted]

/** A package that was deleted, and the packages of its actions, which may be unneeded now. */
final case class PackageDeleted(there: ActionPackage, released: Set[PackageId])

/** Why a package of actions is not stored, or not deleted. */
enum PackageRefusal:
  case Exists
  case Missing

  /** Another entity of the namespace has this name. */
  case NameTaken(by: Collection)

  /** The target of the binding is missing, no package, a binding itself, or not open to this namespace. */
  case BindsNothing(target: PackageName)
  case BindsOther(target: PackageName, collection: Collection)
  case BindsBinding(target: PackageName)
  case BindsClosed

  /** It is a package, which may have actions, and cannot become a binding. */
  case NoBinding
  case NotEmpty(actions: Int)

  /** The namespace has as many as it is allowed. */
  case TooMany(allowed: Int)

  /** The namespace's definitions and packages would have this many bytes in all. */
  case TooLarge(bytes: Long, allowed: Long)
