package burst.controller.action

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.firing.FakeActions
import burst.controller.flare.{FlareState, Output}
import burst.controller.json.JsonPieces
import burst.controller.scheduler.{AdmissionControl, MemoryFlareStore, Samples}
import burst.controller.store.{
  ActivationFilter,
  ActivationStore,
  Identity,
  OpenRecord,
  Samples as StoreSamples,
  StoredActivation
}
import burst.protocol.{FlareId, JsonText, Timestamp}
import java.nio.file.Path
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.duration.FiniteDuration
import org.apache.pekko.util.ByteString

class ActivationsSuite extends munit.FunSuite:
  private val caller = Identity("guest", StoreSamples.limits)
  private val action = FakeActions.action(ActionName("guest", None, "hello"))
  private val flare = AdmissionControl
    .accept(Samples.request(1), Timestamp.Epoch)
    .copy(state = FlareState.Succeeded)
  private val begun =
    flare.copy(request = flare.request.copy(activation = Some(FlareInvocation.fields(caller, action, "t"))))
  private val one =
    StoredActivation(flare.id, "guest", Right(begun), None, Some(Output.OutOfLine(9)), Vector.empty)

  private object store extends ActivationStore:
    def list(namespace: String, filter: ActivationFilter, limit: Int, skip: Int) = Vector(one)
    def find(namespace: String, id: FlareId): Option[StoredActivation] = ???
    def findNear(namespace: String, id: FlareId): Vector[StoredActivation] = ???
    def count(namespace: String, filter: ActivationFilter): Long = ???
    def open(record: OpenRecord, recordLease: FiniteDuration): Unit = ???
    def areOpen(ids: Vector[FlareId]): Set[FlareId] = ???
    def renew(ids: Vector[FlareId], recordLease: FiniteDuration): Unit = ???
    def close(record: OpenRecord, ended: Timestamp, result: JsonText, logs: Vector[String]): Unit = ???
    def endAbandoned(over: FiniteDuration, now: Timestamp): Int = ???

  private object blobs extends FlareBlobStore:
    val read: AtomicInteger = AtomicInteger()
    def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString =
      read.incrementAndGet()
      ByteString("""{"a":"b"}""")
    def put(id: FlareId, name: BlobName, file: Path): Unit = ???
    def load(id: FlareId, name: BlobName): ByteString = ???
    def delete(id: FlareId, keep: Set[BlobName]): Unit = ???
    def delete(id: FlareId, name: BlobName): Unit = ???
    def flares(): Vector[FlareId] = ???

  test("listing only the ids reads no output"):
    val activations = Activations(store, MemoryFlareStore(), blobs, JsonPieces(256))
    assertEquals(activations.ids("guest", ActivationFilter(), 10, 0), Vector(flare.id))
    assertEquals(blobs.read.get, 0)
    assertEquals(
      activations.list("guest", ActivationFilter(), 10, 0).map(_.status),
      Vector(ActivationStatus.Success)
    )
    assertEquals(blobs.read.get, 1)
