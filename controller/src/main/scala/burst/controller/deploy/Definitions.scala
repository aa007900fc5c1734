package burst.controller.deploy

import burst.controller.blob.PackageCopy
import burst.controller.definition.{Definition, VariableChanges}
import burst.controller.store.{DefinitionChange, DefinitionStore, DeployRefusal, PackageGone, Packages}
import burst.controller.limits.NamespaceLimits
import burst.protocol.{PackageId, Timestamp}
import org.slf4j.LoggerFactory
import scala.util.control.NonFatal

/** Definitions together with their packages: no version of a definition exists without its package, and a
  * package is deleted with the last version and flare that need it, or in the next sweep if calls were
  * concurrent. Calls block.
  */
final class Definitions(store: DefinitionStore, packages: Packages):
  import Definitions.log

  /** Stores package and definition, as `DefinitionStore.put` does. */
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
      withPackage(definition.packageId, bytes):
        store.put(definition, _, overwrite, limits, replaceParameters, variables)

  /** Stores what `next` returns for a definition, with its package if that is a different one. */
  def edit(namespace: String, name: String, bytes: Option[Array[Byte]], limits: NamespaceLimits)(
      next: Option[Definition] => Either[DeployRefusal, Definition]
  ): Either[DeployRefusal, Definition] =
    // Nothing is transferred for a request that is refused immediately.
    next(store.find(namespace, name)).flatMap: _ =>
      bytes match
        case None => store.edit(namespace, name, None, limits)(next).map(settled)
        case Some(bytes) =>
          withPackage(PackageId.of(bytes), bytes): copy =>
            store.edit(namespace, name, Some(copy), limits)(next)

  private def withPackage(id: PackageId, bytes: Array[Byte])(
      put: PackageCopy => Either[DeployRefusal, DefinitionChange]
  ): Either[DeployRefusal, Definition] =
    def anew() = put(packages.store(id, bytes))
    val stored = packages.copyOf(id, bytes.length) match
      case None => anew()
      case Some(there) =>
        // It may be deleted before the definition is stored; a copy of our own may not.
        try put(there)
        catch case _: PackageGone => anew()
    if stored.isLeft then released(Set(id))
    stored.map(settled)

  /** Makes a new version that is equal to an older one, as `DefinitionStore.rollBack` does. */
  def rollBack(
      namespace: String,
      name: String,
      version: Option[String],
      limits: NamespaceLimits,
      now: Timestamp
  ): Either[DeployRefusal, Definition] =
    store.rollBack(namespace, name, version, limits, now).map(settled)

  /** Removes a definition with all its versions and returns what it was. */
  def remove(namespace: String, name: String): Option[Definition] =
    store.delete(namespace, name).map(settled)

  /** Deletes packages of versions that were dropped, unless something still needs them. A failure is only
    * logged, as the request itself is done; the janitor finds them later.
    */
  def released(ids: Set[PackageId]): Unit =
    try ids.foreach(packages.removeUnneeded)
    catch case NonFatal(problem) => log.warn("packages that nothing needs stay for now", problem)

  private def settled(change: DefinitionChange): Definition =
    released(change.released)
    change.definition

object Definitions:
  private val log = LoggerFactory.getLogger(classOf[Definitions])
