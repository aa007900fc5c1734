package burst.controller.store

import burst.controller.definition.{ActionPackage, PackageName}
import burst.controller.limits.NamespaceLimits
import burst.protocol.PackageId

/** Packages of actions and bindings. Calls block, as those of all stores. */
trait ActionPackageStore:
  def find(namespace: String, name: String): Option[ActionPackage]

  /** Newest first, all or those that are published. The parameters of the answers are empty. */
  def list(namespace: String, published: Boolean, limit: Int, skip: Int): Vector[ActionPackage]

  def count(namespace: String, published: Boolean): Int

  /** Creates or replaces one by what `next` makes of the one that is there. */
  def edit(namespace: String, name: String, limits: NamespaceLimits)(
      next: Option[ActionPackage] => Either[PackageRefusal, ActionPackage]
  ): Either[PackageRefusal, ActionPackage]

  /** Deletes one that has no actions, or, by force, with those that it has. */
  def delete(namespace: String, name: String, force: Boolean): Either[PackageRefusal, PackageDeleted]

/** A package that was deleted, and packages of its actions that nothing may need now. */
final case class PackageDeleted(there: ActionPackage, released: Set[PackageId])

/** Why a package of actions is not stored, or not deleted. */
enum PackageRefusal:
  case Exists
  case Missing

  /** Another entity of the namespace is called so. */
  case NameTaken(by: Collection)

  /** What it binds is not there, no package, a binding itself, or open to others only. */
  case BindsNothing(target: PackageName)
  case BindsOther(target: PackageName, collection: Collection)
  case BindsBinding(target: PackageName)
  case BindsClosed

  /** It is a package, which may have actions, and cannot become a binding. */
  case NoBinding
  case NotEmpty(actions: Int)

  /** The namespace has as many as it may have. */
  case TooMany(allowed: Int)

  /** With it the namespace's definitions and packages would have so many bytes. */
  case TooLarge(bytes: Long, allowed: Long)
