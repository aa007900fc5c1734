package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.{Files, NoSuchFileException, Path}
import java.util.Comparator
import org.apache.pekko.actor.ActorSystem
import org.apache.pekko.stream.scaladsl.Sink
import org.apache.pekko.util.ByteString
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt
import scala.util.Try

/** What every implementation of [[OutputStore]] must do. */
abstract class OutputStoreContract extends munit.FunSuite:
  override def munitTimeout = 2.minutes

  /** An empty one. */
  protected def open(directory: Path): OutputStore

  private given system: ActorSystem = ActorSystem("outputs")
  override def afterAll(): Unit =
    val _ = Await.ready(system.terminate(), 30.seconds)

  private val fixture = FunFixture[(OutputStore, Path)](
    _ =>
      val directory = Files.createTempDirectory("burst-outputs")
      (open(directory.resolve("store")), directory)
    ,
    (store, directory) =>
      store.close()
      Files.walk(directory).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))
  )

  private def file(directory: Path, bytes: ByteString): Path =
    Files.write(Files.createTempFile(directory, "spooled", ""), bytes.toArray)

  private def read(store: OutputStore, id: FlareId, worker: Int): ByteString =
    Await.result(store.read(id, worker).runWith(Sink.fold(ByteString.empty)(_ ++ _)), 30.seconds)

  fixture.test("an output is read as it was stored, by flare and worker"): (store, directory) =>
    val (one, two) = (FlareId.random(), FlareId.random())
    val long = ByteString(Array.tabulate[Byte](2_500_001)(i => (i * 31).toByte))
    store.put(one, 0, file(directory, long))
    store.put(one, 7, file(directory, ByteString("seven")))
    store.put(two, 0, file(directory, ByteString("other")))
    assertEquals(read(store, one, 0), long)
    assertEquals(read(store, one, 7).utf8String, "seven")
    assertEquals(read(store, two, 0).utf8String, "other")
    assertEquals(store.flares().toSet, Set(one, two))

  fixture.test("storing again what is there is nothing, and what never was is an error"):
    (store, directory) =>
      val id = FlareId.random()
      val spooled = file(directory, ByteString("once"))
      store.put(id, 0, spooled)
      assert(!Files.exists(spooled))
      store.put(id, 0, spooled)
      assertEquals(read(store, id, 0).utf8String, "once")
      intercept[NoSuchFileException](store.put(id, 1, spooled))

  fixture.test("a flare's outputs go together, and reading what is gone fails"): (store, directory) =>
    val (one, two) = (FlareId.random(), FlareId.random())
    for id <- Vector(one, two); worker <- 0 to 2 do store.put(id, worker, file(directory, ByteString("x")))
    store.delete(one)
    store.delete(one)
    assertEquals(store.flares(), Vector(two))
    assert(Try(read(store, one, 0)).isFailure)
    assertEquals(read(store, two, 2).utf8String, "x")

class DirectoryOutputStoreSuite extends OutputStoreContract:
  protected def open(directory: Path): OutputStore = DirectoryOutputStore.open(directory)

class S3OutputStoreSuite extends OutputStoreContract:
  protected def open(directory: Path): OutputStore =
    val bucket = S3Server.shared.settings.copy(prefix = s"outputs/${java.util.UUID.randomUUID}/")
    S3OutputStore(S3Bucket.open(bucket))
