package burst.controller.deploy

import burst.controller.blob.PackageCopy
import burst.controller.definition.Definition
import burst.controller.store.{DefinitionStore, DeployRefusal, PackageGone, Packages}
import burst.controller.limits.NamespaceLimits

/** Definitions together with their packages: a definition never stands without its package, and a package
  * goes with the last definition and flare that need it, or with the next sweep when calls met. Calls block.
  */
final class Definitions(store: DefinitionStore, packages: Packages):

  /** Stores package and definition, as [[DefinitionStore.put]] does. */
  def deploy(
      definition: Definition,
      bytes: Array[Byte],
      overwrite: Boolean,
      limits: NamespaceLimits,
      replaceParameters: Boolean = true
  ): Either[DeployRefusal, Definition] =
    val previous = store.find(definition.namespace, definition.name)
    if previous.isDefined && !overwrite then Left(DeployRefusal.Exists)
    else
      def put(copy: PackageCopy) = store.put(definition, copy, overwrite, limits, replaceParameters)
      def anew() = put(packages.store(definition.packageId, bytes))
      val stored = packages.copyOf(definition.packageId, bytes.length) match
        case None => anew()
        case Some(there) =>
          // It may go before the definition is stored; one of our own may not.
          try put(there)
          catch case _: PackageGone => anew()
      previous.map(_.packageId).filter(_ != definition.packageId).foreach(packages.removeUnneeded)
      if stored.isLeft then packages.removeUnneeded(definition.packageId)
      stored

  /** Removes a definition and returns what it was. */
  def remove(namespace: String, name: String): Option[Definition] =
    val removed = store.find(namespace, name).filter(_ => store.delete(namespace, name))
    removed.foreach(definition => packages.removeUnneeded(definition.packageId))
    removed
