package burst.controller.deploy

import burst.controller.blob.PackageCopy
import burst.controller.definition.{Definition, VariableChanges}
import burst.controller.store.{DefinitionChange, DefinitionStore, DeployRefusal, PackageGone, Packages}
import burst.controller.limits.NamespaceLimits

/** Definitions together with their packages: no version of one stands without its package, and a package goes
  * with the last version and flare that need it, or with the next sweep when calls met. Calls block.
  */
final class Definitions(store: DefinitionStore, packages: Packages):

  /** Stores package and definition, as [[DefinitionStore.put]] does. */
  def deploy(
      definition: Definition,
      bytes: Array[Byte],
      overwrite: Boolean,
      limits: NamespaceLimits,
      replaceParameters: Boolean = true,
      variables: VariableChanges = VariableChanges()
  ): Either[DeployRefusal, Definition] =
    val exists = store.find(definition.namespace, definition.name).isDefined
    if exists && !overwrite then Left(DeployRefusal.Exists)
    else
      def put(copy: PackageCopy) =
        store.put(definition, copy, overwrite, limits, replaceParameters, variables)
      def anew() = put(packages.store(definition.packageId, bytes))
      val stored = packages.copyOf(definition.packageId, bytes.length) match
        case None => anew()
        case Some(there) =>
          // It may go before the definition is stored; one of our own may not.
          try put(there)
          catch case _: PackageGone => anew()
      if stored.isLeft then packages.removeUnneeded(definition.packageId)
      stored.map(settled)

  /** Makes a next version that is equal to an older one, as [[DefinitionStore.rollBack]] does. */
  def rollBack(
      namespace: String,
      name: String,
      version: Option[String],
      limits: NamespaceLimits,
      now: Long
  ): Either[DeployRefusal, Definition] =
    store.rollBack(namespace, name, version, limits, now).map(settled)

  /** Removes a definition with all its versions and returns what it was. */
  def remove(namespace: String, name: String): Option[Definition] =
    store.delete(namespace, name).map(settled)

  private def settled(change: DefinitionChange): Definition =
    change.released.foreach(packages.removeUnneeded)
    change.definition
