package burst.controller.blob

import burst.protocol.PackageId

/** Packages by content. Implementations: a directory, a bucket. Calls block; a bucket that fails or does not
  * answer in time is a `BlobStoreException`.
  */
trait PackageStore extends AutoCloseable:
  /** Stores bytes under their hash; a second put of the same content is free. Durable on return, never
    * partial.
    */
  def put(bytes: Array[Byte]): PackageId
  def size(id: PackageId): Option[Long]

  /** Up to `length` bytes from `offset`; nothing when the package is not there. */
  def read(id: PackageId, offset: Long, length: Int): Option[Array[Byte]]
  def delete(id: PackageId): Unit

  /** All that are stored, for sweeping out what nothing refers to any more. */
  def ids(): Vector[PackageId]

  override def close(): Unit = ()

final class BlobStoreException(val operation: String, cause: Throwable)
    extends RuntimeException(
      s"the store of packages and outputs failed during $operation: ${cause.getMessage}",
      cause
    )
