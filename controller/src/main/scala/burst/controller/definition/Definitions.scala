package burst.controller.definition

import burst.controller.blob.PackageStore
import burst.controller.store.DefinitionStore
import burst.protocol.PackageId

/** Definitions together with their packages: a definition never stands without its package, and a package
  * goes with the last one that needs it. Calls block.
  */
final class Definitions(store: DefinitionStore, packages: PackageStore):
  // A package is stored before the definition that names it. Without the lock a concurrent removal could
  // find it unused in between.
  private val lock = Object()

  /** Stores package and definition; nothing when the name is taken and must not be overwritten. */
  def deploy(definition: Definition, bytes: Array[Byte], overwrite: Boolean): Option[Definition] =
    lock.synchronized:
      val previous = store.find(definition.namespace, definition.name)
      if previous.isDefined && !overwrite then None
      else
        packages.put(bytes)
        val stored = store.put(definition, overwrite)
        previous.map(_.packageId).foreach(removeUnused)
        if stored.isEmpty then removeUnused(definition.packageId)
        stored

  /** Removes a definition and returns what it was. */
  def remove(namespace: String, name: String): Option[Definition] =
    lock.synchronized:
      val found = store.find(namespace, name)
      found
        .filter(_ => store.delete(namespace, name))
        .map: removed =>
          removeUnused(removed.packageId)
          removed

  /** Deletes what nothing refers to any more: packages whose last flare ended after their definition went. */
  def sweep(): Unit =
    packages.ids().foreach(id => lock.synchronized(removeUnused(id)))

  private def removeUnused(id: PackageId): Unit =
    if !store.usesPackage(id) then packages.delete(id)
