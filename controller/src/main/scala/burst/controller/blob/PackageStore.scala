package burst.controller.blob

import burst.protocol.PackageId

/** Packages by content. Implementations: a directory, a bucket. Calls block. */
trait PackageStore:
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
