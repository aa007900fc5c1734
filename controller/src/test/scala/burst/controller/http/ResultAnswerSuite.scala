package burst.controller.http

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.flare.{Flare, Output, WorkerRecord, WorkerResult, WorkerState}
import burst.controller.store.{Blocking, ResultReader, Samples, Transfers}
import burst.protocol.{FlareId, JsonText}
import io.circe.parser.parse
import java.lang.ref.WeakReference
import java.nio.file.{NoSuchFileException, Path}
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.http.scaladsl.model.{HttpEntity, StatusCodes}
import org.apache.pekko.stream.scaladsl.{Sink, SinkQueueWithCancel, Source}
import org.apache.pekko.util.ByteString
import scala.concurrent.{Await, Future}
import scala.concurrent.duration.DurationInt

class ResultAnswerSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private given system: ActorSystem[Nothing] = ActorSystem(Behaviors.empty, "result-answer")
  import system.executionContext

  override def afterAll(): Unit = system.terminate()

  private def await[A](future: Future[A]): A = Await.result(future, 1.minute)

  private val pieceBytes = 256 * 1024

  /** Every worker's output is its number, except for the one whose output is stored out of line. */
  private final class Store(kept: Option[Int] = None, length: Long = 0) extends FlareBlobStore, ResultReader:
    val read = AtomicInteger()
    val pieces = AtomicInteger()

    def attempt(id: FlareId): Option[Int] = Some(1)

    def results(id: FlareId, from: Int, until: Int): Vector[WorkerResult] =
      read.incrementAndGet()
      Vector.range(from, until).map: worker =>
        val output =
          if kept.contains(worker) then Output.OutOfLine(length) else Output.Inline(JsonText(s"$worker"))
        WorkerResult(worker, Some(output), None)

    def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString =
      assert(kept.map(BlobName.output).contains(name))
      pieces.incrementAndGet()
      ByteString("7" * (this.length - from).min(length).toInt)

    def put(id: FlareId, name: BlobName, file: Path): Unit = fail("the store was written to")
    def load(id: FlareId, name: BlobName): ByteString = throw NoSuchFileException(name.text)
    def delete(id: FlareId, keep: Set[BlobName]): Unit = ()
    def delete(id: FlareId, name: BlobName): Unit = ()
    def flares(): Vector[FlareId] = Vector.empty

  private def flare(size: Int): Flare =
    val flare = Samples.flare()
    flare.copy(request = flare.request.copy(size = size))

  /** The body as the server reads it: `dataBytes` would request more than it is asked for. */
  private def body(store: Store, flare: Flare): Source[ByteString, Any] =
    val answer = ResultAnswer(store, store, Blocking(executionContext), Transfers(executionContext))
    answer(StatusCodes.OK, flare).entity match
      case HttpEntity.Chunked(_, chunks) => chunks.map(_.data)
      case other => fail(s"not streamed: $other")

  private def outputs(store: Store, size: Int): Vector[String] =
    val text = await(body(store, flare(size)).runFold(ByteString.empty)(_ ++ _)).utf8String
    val shown = parse(text).toTry.get.hcursor.downField("outputs").values.toVector.flatten
    assertEquals(shown.map(_.hcursor.get[Int]("worker")), Vector.range(0, size).map(Right(_)))
    shown.map(_.hcursor.downField("output").focus.map(_.noSpaces).getOrElse(""))

  test("results of any number of workers are sent, page by page"):
    Vector(1, 7, 8, 9, 100).foreach: size =>
      val store = Store()
      assertEquals(outputs(store, size), Vector.range(0, size).map(_.toString))
      assertEquals(store.read.get, (size + 7) / 8)

  test("the known result of a single worker is not read, and the response is sent whole"):
    val alone = flare(1)
    def known(store: Store, result: WorkerResult): HttpEntity =
      val answer = ResultAnswer(store, store, Blocking(executionContext), Transfers(executionContext))
      answer(StatusCodes.OK, alone, Vector(result)).entity
    val store = Store()
    val streamed = await(body(store, alone).runFold(ByteString.empty)(_ ++ _))
    known(store, store.results(alone.id, 0, 1).head) match
      case HttpEntity.Strict(_, text) => assertEquals(text.utf8String, streamed.utf8String)
      case other => fail(s"not whole: $other")
    known(store, WorkerResult(0, None, None)) match
      case HttpEntity.Strict(_, text) =>
        assert(text.utf8String.endsWith(""""outputs":[{"worker":0}]}"""), text.utf8String)
      case other => fail(s"not whole: $other")
    assertEquals(store.read.get, 2)
    known(Store(kept = Some(0), 10), WorkerResult(0, Some(Output.OutOfLine(10)), None)) match
      case HttpEntity.Chunked(_, _) => ()
      case other => fail(s"not streamed: $other")

  test("known results of several workers give the same response as reading them would"):
    val three = flare(3)
    def answer(store: Store, known: Vector[WorkerResult]): HttpEntity =
      ResultAnswer(store, store, Blocking(executionContext), Transfers(executionContext))(
        StatusCodes.OK,
        three,
        known
      ).entity
    val store = Store()
    val streamed = await(body(store, three).runFold(ByteString.empty)(_ ++ _))
    val all = store.results(three.id, 0, 3)
    answer(store, all) match
      case HttpEntity.Strict(_, text) => assertEquals(text.utf8String, streamed.utf8String)
      case other => fail(s"not whole: $other")
    assertEquals(store.read.get, 2)
    Vector(all.take(2), all.updated(1, WorkerResult(1, Some(Output.OutOfLine(10)), None))).foreach: some =>
      assert(!answer(store, some).isStrict)

  test("an output that is stored out of line is sent whole, whatever its length"):
    Vector(1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3 * pieceBytes).foreach: length =>
      val shown = outputs(Store(kept = Some(8), length), 10)
      assertEquals(shown.updated(8, ""), Vector.range(0, 10).map(_.toString).updated(8, ""))
      assertEquals(shown(8), "7" * length)

  test("no page and no piece is read before it is asked for"):
    def read(parts: Int): (Int, Int) =
      val store = Store(kept = Some(8), length = 5 * pieceBytes)
      await(body(store, flare(100)).take(parts).runWith(Sink.ignore))
      (store.read.get, store.pieces.get)
    assertEquals(read(1), (0, 0), "the beginning")
    assertEquals(read(1 + 8), (1, 0), "the workers of the first page")
    assertEquals(read(1 + 8 + 1), (2, 0), "the text before an output")
    assertEquals(read(1 + 8 + 1 + 2), (2, 2), "the output's first pieces")

  test("the flare's record is not held in memory while its results are read"):
    val (taken, record) = reading()
    val deadline = 60.seconds.fromNow
    while record.get != null && deadline.hasTimeLeft() do System.gc()
    assertEquals(record.get, null)
    assert(await(taken.pull()).isDefined)
    taken.cancel()

  private def reading(): (SinkQueueWithCancel[ByteString], WeakReference[Vector[WorkerRecord]]) =
    val workers = Vector.tabulate(20)(WorkerRecord(_, None, WorkerState.Failed, None, None, None))
    val taken = body(Store(), flare(20).copy(workers = workers)).runWith(Sink.queue(1))
    assert(await(taken.pull()).isDefined)
    (taken, WeakReference(workers))
