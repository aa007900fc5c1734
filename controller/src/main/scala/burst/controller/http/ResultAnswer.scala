package burst.controller.http

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.flare.{Flare, Output, WorkerResult}
import burst.controller.store.{Blocking, ResultReader, Transfers}
import burst.protocol.FlareId
import io.circe.syntax.*
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpResponse, StatusCode}
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** The outputs of a flare's workers, streamed from the store: a page of workers at a time, and large outputs
  * a piece at a time, each on demand. If the client goes away, the reading ends. If the store fails
  * meanwhile, or the flare runs again, the response breaks off, so that the client cannot mistake it for
  * complete.
  */
final class ResultAnswer(
    results: ResultReader,
    blobs: FlareBlobStore,
    blocking: Blocking,
    transfers: Transfers
):
  import ResultAnswer.*

  /** Answers with a flare's results. If those of all workers are `known`, nothing is read, and the answer is
    * sent as a whole unless an output is large.
    */
  def apply(status: StatusCode, flare: Flare, known: Vector[WorkerResult] = Vector.empty): HttpResponse =
    val head = s"""{"flareId":${flare.id.asJson.noSpaces},"state":${flare.state.asJson.noSpaces},""" +
      s""""error":${flare.error.asJson.noSpaces},"outputs":["""
    // Nothing else of the record, which may have megabytes, is held while the client reads.
    val outputs = Outputs(flare.id, flare.namespace, flare.request.size, attemptOf(flare))
    val entity = outputs.whole(known).map(ByteString(head) ++ _ ++ Tail) match
      case Some(text) => HttpEntity(ContentTypes.`application/json`, text)
      case None =>
        val body = Source.unfoldAsync(Cursor.Head(ByteString(head)))(outputs.at)
        HttpEntity(ContentTypes.`application/json`, body)
    HttpResponse(status, entity = entity)

  /** Returns the attempt of a flare that may still run again. */
  private def attemptOf(flare: Flare): Option[Int] = Option.unless(flare.state.isFinal)(flare.attempt)

  private final class Outputs(id: FlareId, namespace: String, size: Int, attempt: Option[Int]):
    private given ExecutionContext = ExecutionContext.parasitic

    /** Returns the text of all workers, if none of them has an output stored separately. */
    def whole(known: Vector[WorkerResult]): Option[ByteString] =
      val texts = known.map(result => begin(result.worker, Page(size, known))).collect:
        case (_: Cursor.Worker, text) => text
      Option.when(known.size == size && texts.size == size)(texts.foldLeft(ByteString.empty)(_ ++ _))

    /** Returns the text at a cursor, and the next cursor. */
    def at(cursor: Cursor): Future[Option[(Cursor, ByteString)]] = cursor match
      case Cursor.Head(text) => Future.successful(Some(Cursor.Worker(0, Page.Empty) -> text))
      case Cursor.Worker(`size`, _) => Future.successful(Some(Cursor.End -> Tail))
      case Cursor.Worker(worker, page) if worker == page.until =>
        val until = (worker + PageSize).min(size)
        blocking(ofAttempt(Page(until, results.results(id, worker, until)))).map(read =>
          Some(begin(worker, read))
        )
      case Cursor.Worker(worker, page) => Future.successful(Some(begin(worker, page)))
      case Cursor.Output(worker, from, page) =>
        Future(ofAttempt(blobs.piece(id, BlobName.output(worker), from, Piece)))(using
          transfers.of(namespace)
        ).map:
          case piece if piece.length < Piece => Some(end(worker, page, piece))
          case piece => Some(Cursor.Output(worker, from + Piece, page) -> piece)
      case Cursor.End => Future.successful(None)

    /** Returns what was read, if it is of the attempt the answer began with. The next attempt replaces these
      * outputs once the store reports that the flare is at that attempt.
      */
    private def ofAttempt[A](read: => A): A =
      val value = read
      if attempt.exists(!results.attempt(id).contains(_)) then throw RunsAgain(id)
      value

    /** Begins a worker's entry. Every worker is listed, even without a result yet. */
    def begin(worker: Int, page: Page): (Cursor, ByteString) =
      val begun = ByteString(s"""${if worker > 0 then "," else ""}{"worker":$worker""")
      page.of(worker).flatMap(_.output) match
        case None => end(worker, page, begun)
        case Some(Output.Inline(text)) => end(worker, page, begun ++ OutputField ++ text.bytes)
        case Some(_: Output.OutOfLine) => Cursor.Output(worker, 0, page) -> (begun ++ OutputField)

    private def end(worker: Int, page: Page, text: ByteString): (Cursor, ByteString) =
      val error = page.of(worker).flatMap(_.error)
      val ended = error.fold("}")(failure => s""","error":${failure.asJson.noSpaces}}""")
      Cursor.Worker(worker + 1, page) -> (text ++ ByteString(ended))

object ResultAnswer:
  private final class RunsAgain(id: FlareId)
      extends RuntimeException(s"flare ${id.value} runs again, or is gone, since its result was asked for")

  /** How many workers' results are read at once: their inline outputs have a quarter of a megabyte, like a
    * piece.
    */
  private val PageSize = 8
  private val Piece = PageSize * Output.MostInline

  private val OutputField = ByteString(""","output":""")
  private val Tail = ByteString("]}")

  private final case class Page(until: Int, results: Vector[WorkerResult]):
    def of(worker: Int): Option[WorkerResult] = results.find(_.worker == worker)

  private object Page:
    val Empty: Page = Page(0, Vector.empty)

  /** The position in an answer. */
  private enum Cursor:
    case Head(text: ByteString)
    case Worker(number: Int, page: Page)

    /** Within an output that is stored separately. */
    case Output(worker: Int, from: Long, page: Page)
    case End
