package burst.controller.blob

import burst.controller.metrics.BlobMetrics
import burst.node.metrics.MetricsRegistry
import burst.protocol.FlareId
import java.io.IOException
import java.nio.file.{Files, NoSuchFileException, Path}
import munit.FunSuite
import org.apache.pekko.util.ByteString

class MeasuredBlobsSuite extends FunSuite:
  /** A directory whose disk fails. */
  private object broken extends FlareBlobStore:
    private val store = DirectoryFlareBlobStore.open(Files.createTempDirectory("burst-measured"))
    export store.{load as _, piece as _, put as _, read as _, *}
    def put(id: FlareId, name: BlobName, file: Path): Unit = throw IOException("no space left on device")
    def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString =
      store.piece(id, name, from, length)
    def load(id: FlareId, name: BlobName): ByteString = store.load(id, name)

  test("calls are counted with their failures; a missing blob is not a failure"):
    val registry = MetricsRegistry()
    val store = MeasuredFlareBlobStore(broken, BlobMetrics(registry))
    val id = FlareId.random()
    val _ = intercept[IOException](store.put(id, BlobName.Inputs, Path.of("/nothing")))
    val _ = intercept[NoSuchFileException](store.load(id, BlobName.Inputs))
    store.probe()
    store.delete(id)
    assertEquals(store.flares(), Vector.empty)
    val shown = String(registry.text(), "UTF-8")
    for line <- Seq(
        """burst_blob_seconds_count{operation="put"} 1""",
        """burst_blob_failures_total{operation="put"} 1.0""",
        """burst_blob_seconds_count{operation="read"} 2""",
        """burst_blob_failures_total{operation="read"} 0.0""",
        """burst_blob_seconds_count{operation="delete"} 1""",
        """burst_blob_seconds_count{operation="list"} 1"""
      )
    do assert(shown.linesIterator.contains(line), s"$line is not in\n$shown")
