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

/** What the workers of a flare put out, as it is read from the store: a page of workers at a time, and large
  * outputs a piece at a time, each when it is asked for. A client that goes away ends the reading. Should the
  * store fail in the middle, or the flare run again, the answer breaks off, which a client cannot take for
  * its end.
  */
final class ResultAnswer(
    results: ResultReader,
    blobs: FlareBlobStore,
    blocking: Blocking,
    transfers: Transfers
):
  import ResultAnswer.*

  /** Results that are `known`, of all workers, are not read, and their answer is whole, unless one is large.
    */
  def apply(status: StatusCode, flare: Flare, known: Vector[WorkerResult] = Vector.empty): HttpResponse =
    val head = s"""{"flareId":${flare.id.asJson.noSpaces},"state":${flare.state.asJson.noSpaces},""" +
      s""""error":${flare.error.asJson.noSpaces},"outputs":["""
    // Nothing else of its record, which may have megabytes, is held for as long as a client takes.
    val outputs = Outputs(flare.id, flare.namespace, flare.request.size, attemptOf(flare))
    val entity = outputs.whole(known).map(ByteString(head) ++ _ ++ Tail) match
      case Some(text) => HttpEntity(ContentTypes.`application/json`, text)
      case None =>
        val body = Source.unfoldAsync(Cursor.Head(ByteString(head)))(outputs.at)
        HttpEntity(ContentTypes.`application/json`, body)
    HttpResponse(status, entity = entity)

  /** Of a flare that may run again. */
  private def attemptOf(flare: Flare): Option[Int] = Option.unless(flare.state.isFinal)(flare.attempt)

  private final class Outputs(id: FlareId, namespace: String, size: Int, attempt: Option[Int]):
    private given ExecutionContext = ExecutionContext.parasitic

    /** Of workers of whom none has an output apart. */
    def whole(known: Vector[WorkerResult]): Option[ByteString] =
      val texts = known.map(result => begin(result.worker, Page(size, known))).collect:
        case (_: Cursor.Worker, text) => text
      Option.when(known.size == size && texts.size == size)(texts.foldLeft(ByteString.empty)(_ ++ _))

    /** The text at a cursor, and the cursor behind it. */
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

    /** What was read, if it is of the attempt the answer began with. The next one puts other outputs in place
      * of these, once the store says that the flare is at that attempt.
      */
    private def ofAttempt[A](read: => A): A =
      val value = read
      if attempt.exists(!results.attempt(id).contains(_)) then throw RunsAgain(id)
      value

    /** Every worker is listed, also those that have nothing to show yet. */
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

  /** Workers whose results are read at once: their inline outputs have a quarter of a megabyte, as a piece.
    */
  private val PageSize = 8
  private val Piece = PageSize * Output.MostInline

  private val OutputField = ByteString(""","output":""")
  private val Tail = ByteString("]}")

  private final case class Page(until: Int, results: Vector[WorkerResult]):
    def of(worker: Int): Option[WorkerResult] = results.find(_.worker == worker)

  private object Page:
    val Empty: Page = Page(0, Vector.empty)

  /** How far an answer is. */
  private enum Cursor:
    case Head(text: ByteString)
    case Worker(number: Int, page: Page)

    /** In an output that is kept apart. */
    case Output(worker: Int, from: Long, page: Page)
    case End
