package burst.controller.blob

import burst.controller.blob.BlobName.output
import burst.protocol.FlareId
import java.nio.file.{Files, NoSuchFileException, Path}
import java.util.Comparator
import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.stream.scaladsl.Sink
import org.apache.pekko.util.ByteString
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt
import scala.util.Try

/** What every implementation of [[FlareBlobStore]] must do. */
abstract class FlareBlobStoreContract extends munit.FunSuite:
  override def munitTimeout = 2.minutes

  /** An empty one. */
  protected def open(directory: Path): FlareBlobStore

  private given system: ActorSystem = ActorSystem("blobs")
  override def afterAll(): Unit =
    val _ = Await.ready(system.terminate(), 30.seconds)

  private val fixture = FunFixture[(FlareBlobStore, Path)](
    _ =>
      val directory = Files.createTempDirectory("burst-blobs")
      (open(directory.resolve("store")), directory)
    ,
    (store, directory) =>
      store.close()
      Files.walk(directory).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))
  )

  private def file(directory: Path, bytes: ByteString): Path =
    Files.write(Files.createTempFile(directory, "spooled", ""), bytes.toArray)

  private def read(store: FlareBlobStore, id: FlareId, name: BlobName): ByteString =
    Await.result(store.read(id, name).runWith(Sink.fold(ByteString.empty)(_ ++ _)), 30.seconds)

  fixture.test("an output is read as it was stored, by flare and worker"): (store, directory) =>
    val (one, two) = (FlareId.random(), FlareId.random())
    val long = ByteString(Array.tabulate[Byte](2_500_001)(i => (i * 31).toByte))
    store.put(one, output(0), file(directory, long))
    store.put(one, output(7), file(directory, ByteString("seven")))
    store.put(two, output(0), file(directory, ByteString("other")))
    assertEquals(read(store, one, output(0)), long)
    assertEquals(read(store, one, output(7)).utf8String, "seven")
    assertEquals(read(store, two, output(0)).utf8String, "other")
    assertEquals(store.flares().toSet, Set(one, two))

  fixture.test("storing again what is there is nothing, and what never was is an error"):
    (store, directory) =>
      val id = FlareId.random()
      val spooled = file(directory, ByteString("once"))
      store.put(id, output(0), spooled)
      assert(!Files.exists(spooled))
      store.put(id, output(0), spooled)
      assertEquals(read(store, id, output(0)).utf8String, "once")
      intercept[NoSuchFileException](store.put(id, output(1), spooled))

  fixture.test("a flare's outputs go together, and reading what is gone fails"): (store, directory) =>
    val (one, two) = (FlareId.random(), FlareId.random())
    for id <- Vector(one, two); worker <- 0 to 2 do
      store.put(id, output(worker), file(directory, ByteString("x")))
    store.delete(one)
    store.delete(one)
    assertEquals(store.flares(), Vector(two))
    assert(Try(read(store, one, output(0))).isFailure)
    assertEquals(read(store, two, output(2)).utf8String, "x")

  fixture.test("one is replaced, taken whole, and deleted by itself or with all but those to keep"):
    (store, directory) =>
      val id = FlareId.random()
      store.put(id, BlobName.Inputs, file(directory, ByteString("before")))
      store.put(id, BlobName.Inputs, file(directory, ByteString("inputs")))
      for number <- 0 to 1 do store.put(id, BlobName.log("a", number), file(directory, ByteString("line")))
      assertEquals(store.load(id, BlobName.Inputs).utf8String, "inputs")
      store.delete(id, keep = Set(BlobName.Inputs))
      intercept[NoSuchFileException](store.load(id, BlobName.log("a", 0)))
      assertEquals(store.load(id, BlobName.Inputs).utf8String, "inputs")
      store.delete(id, BlobName.Inputs)
      store.delete(id, BlobName.Inputs)
      intercept[NoSuchFileException](store.load(id, BlobName.Inputs))
      store.delete(id)
      assertEquals(store.flares(), Vector.empty)

class DirectoryFlareBlobStoreSuite extends FlareBlobStoreContract:
  protected def open(directory: Path): FlareBlobStore = DirectoryFlareBlobStore.open(directory)

class S3FlareBlobStoreSuite extends FlareBlobStoreContract:
  protected def open(directory: Path): FlareBlobStore =
    val bucket = S3Server.shared.settings.copy(prefix = s"blobs/${java.util.UUID.randomUUID}/")
    S3FlareBlobStore(S3Bucket.open(bucket))
