package burst.controller.http

import burst.controller.store.{addResults, insert, update}
import burst.controller.blob.{BlobName, DirectoryFlareBlobStore, FlareBlobStore}
import burst.controller.flare.{Flare, FlareState, Output, WorkerResult}
import burst.controller.scheduler.{AdmissionControl, MemoryFlareStore, Samples}
import burst.controller.store.{Blocking, FlareStore, Transfers}
import burst.protocol.{FlareId, Timestamp}
import java.nio.file.{Files, Path}
import java.util.Comparator
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.http.scaladsl.model.StatusCodes
import org.apache.pekko.util.ByteString
import scala.concurrent.{Await, Future}
import scala.concurrent.duration.DurationInt

/** Results of flares that are retried while somebody reads them. */
class ResultAttemptsSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private given system: ActorSystem[Nothing] = ActorSystem(Behaviors.empty, "result-attempts")
  import system.executionContext

  override def afterAll(): Unit = system.terminate()

  private val directory = FunFixture[Path](
    _ => Files.createTempDirectory("burst-results"),
    root => Files.walk(root).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))
  )

  /** A running flare, which a test retries once its reader has got to a certain point. */
  private final class Bench(root: Path, size: Int):
    val store = MemoryFlareStore()
    val kept = DirectoryFlareBlobStore.open(root.resolve("flares"))
    val flare: Flare =
      AdmissionControl.accept(Samples.request(size), Timestamp.Epoch).copy(state = FlareState.Running)
    store.insert(flare)

    def keep(text: String): Unit =
      kept.put(flare.id, BlobName.output(0), Files.writeString(root.resolve("spooled"), text))

    def again(results: WorkerResult*): Unit =
      if store.find(flare.id).exists(_.attempt == 1) then
        store.clearAttempt(flare.id)
        store.update(flare.copy(attempt = 2))
      store.addResults(flare.id, results.toVector)

    def read(flares: FlareStore = store, blobs: FlareBlobStore = kept): Future[ByteString] =
      ResultAnswer(flares, blobs, Blocking(executionContext), Transfers(executionContext))(
        StatusCodes.OK,
        flare
      )
        .entity
        .dataBytes
        .runReduce(_ ++ _)

  private def breaksOff(answer: Future[ByteString]): Unit =
    Await.ready(answer, 1.minute).value.flatMap(_.toOption).foreach: whole =>
      fail(s"the response did not break off: ${whole.take(80).utf8String}…${whole.takeRight(80).utf8String}")

  directory.test("an output is not pieced together from two attempts"): root =>
    val bench = Bench(root, 1)
    import bench.*
    keep("\"" + "1" * 600_000 + "\"")
    store.addResults(flare.id, Vector(WorkerResult(0, Some(Output.OutOfLine(600_002)), None)))
    object turning extends FlareBlobStore:
      export kept.{close as _, piece as _, read as _, *}
      def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString =
        if from > 0 then
          again()
          keep("\"" + "2" * 600_000 + "\"")
        kept.piece(id, name, from, length)
    breaksOff(read(blobs = turning))

  directory.test("a response does not mix the outputs of two attempts"): root =>
    val bench = Bench(root, 20)
    import bench.*
    def result(worker: Int, text: String) = WorkerResult(worker, Some(Samples.output(text)), None)
    store.addResults(flare.id, Vector(result(0, "1")))
    object turning extends FlareStore:
      export store.{results as _, *}
      def results(id: FlareId, from: Int, until: Int): Vector[WorkerResult] =
        if from > 0 then again(result(19, "2"))
        store.results(id, from, until)
    breaksOff(read(flares = turning))

  directory.test("a response that is read while the flare keeps running, or ends, is complete"): root =>
    val bench = Bench(root, 1)
    import bench.*
    val text = "\"" + "1" * 600_000 + "\""
    keep(text)
    store.addResults(flare.id, Vector(WorkerResult(0, Some(Output.OutOfLine(600_002)), None)))
    object turning extends FlareBlobStore:
      export kept.{close as _, piece as _, read as _, *}
      def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString =
        if from == 0 then store.update(flare.copy(state = FlareState.Succeeded))
        kept.piece(id, name, from, length)
    val whole = Await.result(read(blobs = turning), 1.minute).utf8String
    assert(whole.endsWith(s"""[{"worker":0,"output":$text}]}"""), whole.take(80))
