package burst.controller.blob

import burst.controller.metrics.BlobMetrics

/** Measures the calls to another store. */
final class MeasuredPackageStore(store: PackageStore, metrics: BlobMetrics) extends PackageStore:
  def put(copy: PackageCopy, bytes: Array[Byte]): Unit = metrics.put(store.put(copy, bytes))
  def size(copy: PackageCopy): Option[Long] = metrics.read(store.size(copy))
  def read(copy: PackageCopy, offset: Long, length: Int): Option[Array[Byte]] =
    metrics.read(store.read(copy, offset, length))
  def delete(copy: PackageCopy): Unit = metrics.delete(store.delete(copy))
  def copies(): Vector[PackageCopy] = metrics.list(store.copies())
  override def close(): Unit = store.close()
