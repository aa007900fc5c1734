package burst.controller.blob

import burst.protocol.PackageId

/** The bytes of packages, for the invokers that run them. */
trait PackageSource:
  def size(id: PackageId): Option[Long]

  /** Returns up to `length` bytes from `offset`; none if the package does not exist. */
  def read(id: PackageId, offset: Long, length: Int): Option[Array[Byte]]

/** The storage of packages. Implementations: a directory, a bucket. Calls block; they throw if it fails or
  * does not answer in time, and [[BlobStoreException]] if something cannot be stored.
  */
trait PackageStore extends AutoCloseable:
  /** Stores the bytes by whose hash the copy is named. Durable on return, never partial. */
  def put(copy: PackageCopy, bytes: Array[Byte]): Unit
  def size(copy: PackageCopy): Option[Long]
  def read(copy: PackageCopy, offset: Long, length: Int): Option[Array[Byte]]
  def delete(copy: PackageCopy): Unit

  /** Returns all stored copies, to find those that nothing refers to any more. */
  def copies(): Vector[PackageCopy]

  override def close(): Unit = ()

final class BlobStoreException(val operation: String, cause: Throwable)
    extends RuntimeException(
      s"the store of packages and outputs failed during $operation: ${cause.getMessage}",
      cause
    )
