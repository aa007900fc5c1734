package burst.controller.blob

import burst.controller.metrics.BlobMetrics
import burst.protocol.FlareId
import java.nio.file.Path
import org.apache.pekko.util.ByteString

/** Measures the calls to another store. */
final class MeasuredFlareBlobStore(store: FlareBlobStore, metrics: BlobMetrics) extends FlareBlobStore:
  def put(id: FlareId, name: BlobName, file: Path): Unit = metrics.put(store.put(id, name, file))
  def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString =
    metrics.read(store.piece(id, name, from, length))
  def load(id: FlareId, name: BlobName): ByteString = metrics.read(store.load(id, name))
  def delete(id: FlareId, keep: Set[BlobName]): Unit = metrics.delete(store.delete(id, keep))
  def delete(id: FlareId, name: BlobName): Unit = metrics.delete(store.delete(id, name))
  def flares(): Vector[FlareId] = metrics.list(store.flares())
  override def probe(): Unit = metrics.read(store.probe())
  override def close(): Unit = store.close()
