package burst.controller.blob

import burst.controller.blob.BlobName.output
import burst.protocol.FlareId
import java.io.IOException
import java.nio.file.{Files, NoSuchFileException, Path}
import java.util.Comparator
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.stream.scaladsl.Sink
import org.apache.pekko.util.ByteString
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt
import scala.util.Try
import software.amazon.awssdk.core.sync.RequestBody

/** What every implementation of [[FlareBlobStore]] must do. */
abstract class FlareBlobStoreContract extends munit.FunSuite:
  override def munitTimeout = 2.minutes

  /** Opens an empty store. */
  protected def open(directory: Path): FlareBlobStore

  private given system: ActorSystem = ActorSystem("blobs")
  private given scala.concurrent.ExecutionContext = system.dispatcher
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

  fixture.test("storing a blob again has no effect, and storing a missing file is an error"):
    (store, directory) =>
      val id = FlareId.random()
      val spooled = file(directory, ByteString("once"))
      store.put(id, output(0), spooled)
      assert(!Files.exists(spooled))
      store.put(id, output(0), spooled)
      assertEquals(read(store, id, output(0)).utf8String, "once")
      intercept[NoSuchFileException](store.put(id, output(1), spooled))

  fixture.test("a flare's outputs are deleted together and are then unreadable"): (store, directory) =>
    val (one, two) = (FlareId.random(), FlareId.random())
    for id <- Vector(one, two); worker <- 0 to 2 do
      store.put(id, output(worker), file(directory, ByteString("x")))
    store.delete(one)
    store.delete(one)
    assertEquals(store.flares(), Vector(two))
    assert(Try(read(store, one, output(0))).isFailure)
    assertEquals(read(store, two, output(2)).utf8String, "x")

  fixture.test("a blob can be replaced, read whole, and deleted alone or with all but some"):
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

  fixture.test("probing a store that can be reached succeeds"): (store, _) =>
    store.probe()

  fixture.test("a piece is read only on demand, and a blob of whole pieces ends"): (store, directory) =>
    val id = FlareId.random()
    val long = ByteString(Array.tabulate[Byte](2 << 20)(i => (i * 31).toByte))
    store.put(id, output(0), file(directory, long))
    val pieces = AtomicInteger()
    object counting extends FlareBlobStore:
      export store.{piece as _, read as _, *}
      def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString =
        pieces.incrementAndGet()
        store.piece(id, name, from, length)
    val first = Await.result(counting.read(id, output(0)).runWith(Sink.head), 30.seconds)
    assertEquals(pieces.get, 1)
    assert(first.length <= 256 * 1024)
    assertEquals(read(store, id, output(0)), long)

class DirectoryFlareBlobStoreSuite extends FlareBlobStoreContract:
  protected def open(directory: Path): FlareBlobStore = DirectoryFlareBlobStore.open(directory)

  private val directory = FunFixture[Path](
    _ => Files.createTempDirectory("burst-blobs"),
    root => Files.walk(root).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))
  )

  directory.test("outputs of an earlier version are taken over"): root =>
    val (one, two) = (FlareId.random(), FlareId.random())
    val former = root.resolve("outputs")
    for id <- Vector(one, two) do
      Files.createDirectories(former.resolve(id.value))
      Files.writeString(former.resolve(id.value).resolve("7"), id.value)
    // The previous takeover was interrupted.
    Files.createDirectories(root.resolve("flares").resolve(two.value))
    for _ <- 1 to 2 do
      val store = DirectoryFlareBlobStore.open(root.resolve("flares"))
      store.takeOver(former)
      for id <- Vector(one, two) do assertEquals(store.load(id, output(7)).utf8String, id.value)
    assert(!Files.exists(former))

  directory.test("a missing directory is noticed"): root =>
    val flares = root.resolve("flares")
    val store = open(flares)
    store.probe()
    Files.delete(flares)
    val _ = intercept[IOException](store.probe())

  directory.test("a file from another file system is stored, too"): root =>
    val elsewhere = Path.of("/dev/shm")
    assume(Files.isWritable(elsewhere) && Files.getFileStore(elsewhere) != Files.getFileStore(root))
    val spooled = Files.writeString(Files.createTempFile(elsewhere, "burst-spooled", ""), "far")
    val store = open(root)
    val id = FlareId.random()
    store.put(id, output(0), spooled)
    assert(!Files.exists(spooled))
    assertEquals(store.load(id, output(0)).utf8String, "far")
    store.delete(id)
    assertEquals(store.flares(), Vector.empty)

class S3FlareBlobStoreSuite extends FlareBlobStoreContract:
  private def fresh = S3Server.shared.settings.copy(prefix = s"blobs/${java.util.UUID.randomUUID}/")

  protected def open(directory: Path): FlareBlobStore = S3FlareBlobStore(S3Bucket.open(fresh))

  test("outputs of an earlier version are taken over"):
    val bucket = S3Bucket.open(fresh)
    val id = FlareId.random()
    val former = s"${bucket.settings.prefix}outputs/${id.value}/7"
    bucket.client.putObject(_.bucket(bucket.name).key(former), RequestBody.fromString("kept"))
    for _ <- 1 to 2 do
      val store = S3FlareBlobStore(bucket)
      store.takeOverOutputs()
      assertEquals(store.load(id, output(7)).utf8String, "kept")
    assertEquals(bucket.present(bucket.client.headObject(_.bucket(bucket.name).key(former))), None)
    bucket.close()

  test("objects that are not Burst's stay in place when outputs are taken over"):
    val bucket = S3Bucket.open(fresh)
    val former = s"${bucket.settings.prefix}outputs/"
    val own = s"$former${FlareId.random().value}/"
    val others = Vector(s"${former}run1.parquet", s"${former}run2/7", s"${own}7/7", s"${own}seven")
    for key <- others do bucket.client.putObject(_.bucket(bucket.name).key(key), RequestBody.fromString("x"))
    S3FlareBlobStore(bucket).takeOverOutputs()
    val left =
      others.filter(key => bucket.present(bucket.client.headObject(_.bucket(bucket.name).key(key))).isDefined)
    assertEquals(left, others)
    bucket.close()
