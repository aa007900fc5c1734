package burst.controller.store

import burst.controller.blob.PackageCopy
import burst.protocol.{PackageId, Timestamp}

/** The index of packages in the database, which alone decides which exist; no lock is held while bytes are
  * transferred.
  *
  * A copy is announced before its bytes are stored and confirmed after. Definitions, their older versions
  * that are kept, and flares that have not ended need packages: each is stored only while its package is here
  * (`require`), and a package is forgotten only when none of them needs it. A copy in the package store that
  * is unknown here was forgotten permanently, as no two copies have the same name.
  */
trait PackageIndex:
  def find(id: PackageId): Option[PackageCopy]

  /** Returns all packages. */
  def ids(): Vector[PackageId]

  /** Records that a copy is about to be stored. */
  def announce(copy: PackageCopy): Unit

  /** Records that an announced copy is stored: from now on it is the package's. Does nothing if it has been
    * forgotten.
    */
  def confirm(copy: PackageCopy): Unit

  /** Returns which of them are here, and locks these until the current transaction has ended. */
  def hold(ids: Set[PackageId]): Set[PackageId]

  /** Locks a package as `hold` does; throws [[PackageGone]] if it is not here. */
  final def require(id: PackageId): Unit = if hold(Set(id)).isEmpty then throw PackageGone(id)

  /** Returns the packages that nothing needs. */
  def unneeded(): Vector[PackageId]

  /** Forgets a package unless something needs it; returns the copy, whose bytes may then be deleted. */
  def forget(id: PackageId): Option[PackageCopy]

  /** Forgets copies that were announced before that time and never confirmed. */
  def forgetAnnounced(before: Timestamp): Unit

  /** Returns all copies, including announced ones. */
  def copies(): Set[PackageCopy]

/** Nothing was written: the package is no longer here, as its definition was overwritten or removed. Reading
  * the definition again finds its replacement.
  */
final class PackageGone(id: PackageId)
    extends StoreException("looking for a package", null, s"the package ${id.value} is not kept any more")
