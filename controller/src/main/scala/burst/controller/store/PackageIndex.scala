package burst.controller.store

import burst.controller.blob.PackageCopy
import burst.protocol.{PackageId, Timestamp}

/** Which packages there are, as the database has it; it alone decides, and no lock is held while bytes are on
  * their way.
  *
  * A copy is announced before its bytes are stored and confirmed after. Definitions, their older versions
  * that are kept, and flares that have not ended need packages: each is stored only while its package is here
  * (`require`), and a package is forgotten only when none of them needs it. What the package store holds and
  * is not known here was forgotten for good, as no two copies have the same name.
  */
trait PackageIndex:
  def find(id: PackageId): Option[PackageCopy]

  /** All that are here. */
  def ids(): Vector[PackageId]

  /** A copy is about to be stored. */
  def announce(copy: PackageCopy): Unit

  /** An announced copy is stored: it is the package's from now on. Nothing when it has been forgotten. */
  def confirm(copy: PackageCopy): Unit

  /** Those of them that are here, which stay until the transaction that this is part of has ended. */
  def hold(ids: Set[PackageId]): Set[PackageId]

  /** As `hold`; [[PackageGone]] when it is not here. */
  final def require(id: PackageId): Unit = if hold(Set(id)).isEmpty then throw PackageGone(id)

  /** Those that nothing needs. */
  def unneeded(): Vector[PackageId]

  /** Forgets a package unless something needs it; the copy's bytes may go then. */
  def forget(id: PackageId): Option[PackageCopy]

  /** Forgets copies that were announced before that time and never confirmed. */
  def forgetAnnounced(before: Timestamp): Unit

  /** Announced ones, too. */
  def copies(): Set[PackageCopy]

/** Nothing was written: the package is not here any more, as its definition was overwritten or removed. Who
  * reads that again finds what is in its place.
  */
final class PackageGone(id: PackageId)
    extends StoreException("looking for a package", null, s"the package ${id.value} is not kept any more")
