package burst.controller.blob

import burst.protocol.PackageId

/** The bytes of packages, for those who run them. */
trait PackageSource:
  def size(id: PackageId): Option[Long]

  /** Up to `length` bytes from `offset`; nothing when the package is not there. */
  def read(id: PackageId, offset: Long, length: Int): Option[Array[Byte]]

/** Where packages lie. Implementations: a directory, a bucket. Calls block; one that fails or does not answer
  * in time throws, what cannot be stored a [[BlobStoreException]].
  */
trait PackageStore extends AutoCloseable:
  /** Stores the bytes that the copy is named by. Durable on return, never partial. */
  def put(copy: PackageCopy, bytes: Array[Byte]): Unit
  def size(copy: PackageCopy): Option[Long]
  def read(copy: PackageCopy, offset: Long, length: Int): Option[Array[Byte]]
  def delete(copy: PackageCopy): Unit

  /** All that are stored, for sweeping out what nothing refers to any more. */
  def copies(): Vector[PackageCopy]

  override def close(): Unit = ()

final class BlobStoreException(val operation: String, cause: Throwable)
    extends RuntimeException(
      s"the store of packages and outputs failed during $operation: ${cause.getMessage}",
      cause
    )
