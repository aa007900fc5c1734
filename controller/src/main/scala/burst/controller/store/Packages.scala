package burst.controller.store

import burst.controller.blob.{PackageCopy, PackageSource, PackageStore}
import burst.protocol.{PackageId, Timestamp}
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** Packages: the index and their bytes. Calls block. */
final class Packages(
    index: PackageIndex,
    bytes: PackageStore,
    now: () => Timestamp = () => Timestamp.now()
) extends PackageSource:
  def size(id: PackageId): Option[Long] = index.find(id).flatMap(bytes.size)

  def read(id: PackageId, offset: Long, length: Int): Option[Array[Byte]] =
    index.find(id).flatMap(bytes.read(_, offset, length))

  def ids(): Vector[PackageId] = index.ids()

  /** Returns the stored copy, if all its bytes are there. */
  def copyOf(id: PackageId, size: Long): Option[PackageCopy] =
    index.find(id).filter(bytes.size(_).contains(size))

  /** Stores the bytes in a copy that is yet to be confirmed. */
  def store(id: PackageId, content: Array[Byte]): PackageCopy =
    val copy = PackageCopy.fresh(id)
    index.announce(copy)
    bytes.put(copy, content)
    copy

  /** Deletes a package unless something needs it. */
  def removeUnneeded(id: PackageId): Unit = index.forget(id).foreach(bytes.delete)

  /** Deletes all packages that nothing needs. */
  def removeUnneeded(): Unit = index.unneeded().foreach(removeUnneeded)

  /** Deletes all packages that nothing needs, and leftovers of processes that ended abruptly; for that it
    * lists everything that is stored.
    */
  def sweep(): Unit =
    removeUnneeded()
    index.forgetAnnounced(now() - Packages.Patience)
    // In this order: bytes that are being stored now and are seen here have been announced.
    val stored = bytes.copies()
    val known = index.copies()
    stored.filterNot(known).foreach(bytes.delete)

object Packages:
  /** How long a package may take to be stored; a deploy that takes longer begins again. */
  val Patience: FiniteDuration = 1.hour
