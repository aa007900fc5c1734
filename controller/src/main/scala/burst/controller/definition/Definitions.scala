package burst.controller.definition

import burst.controller.blob.PackageStore
import burst.controller.store.DefinitionStore
import burst.protocol.PackageId

/** Definitions together with their packages: a definition never stands without its package, and a package
  * goes with the last one that needs it, or with the next sweep when calls for one definition met. Calls
  * block.
  *
  * A package is stored before the definition that names it, and nobody deletes it in between: who stores or
  * deletes one holds it, on whichever controller. Nobody holds two.
  */
final class Definitions(store: DefinitionStore, packages: PackageStore):

  /** Stores package and definition, as [[DefinitionStore.put]] does; nothing when the name is taken and must
    * not be overwritten.
    */
  def deploy(
      definition: Definition,
      bytes: Array[Byte],
      overwrite: Boolean,
      replaceParameters: Boolean = true
  ): Option[Definition] =
    val previous = store.find(definition.namespace, definition.name)
    if previous.isDefined && !overwrite then None
    else
      val stored = store.holding(definition.packageId):
        packages.put(bytes)
        store.put(definition, overwrite, replaceParameters)
      previous.map(_.packageId).filter(_ != definition.packageId).foreach(removeUnused)
      if stored.isEmpty then removeUnused(definition.packageId)
      stored

  /** Removes a definition and returns what it was. */
  def remove(namespace: String, name: String): Option[Definition] =
    val removed = store.find(namespace, name).filter(_ => store.delete(namespace, name))
    removed.foreach(definition => removeUnused(definition.packageId))
    removed

  /** Deletes what nothing refers to any more: packages whose last flare ended after their definition went. */
  def sweep(): Unit = packages.ids().foreach(removeUnused)

  private def removeUnused(id: PackageId): Unit =
    // Asked first without the lock: nearly all of those a sweep looks at are in use.
    if !store.usesPackage(id) then
      store.holding(id):
        if !store.usesPackage(id) then packages.delete(id)
