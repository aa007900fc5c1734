package burst.controller.http

import burst.controller.flare.LogText
import burst.controller.store.{Blocking, LogPart, LogReader}
import burst.protocol.FlareId
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.NotUsed
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpResponse, StatusCodes}
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** `GET …/logs`: a log may be large, and what is said of its lines larger, so that it is written while it is
  * read, one part at a time, and as fast as the client takes it.
  *
  * What a client gets is the log as it was when it asked. One that is cleared meanwhile (the flare failed and
  * is run again) cannot be told to its end: then the connection breaks, as any other way to end would pass
  * for the whole.
  */
final class LogAnswer(logs: LogReader, blocking: Blocking)(using ExecutionContext):
  import LogAnswer.*

  def apply(id: FlareId, worker: Option[Int]): Answer =
    blocking:
      val extent = logs.logExtent(id)
      // The first part is read before anything is answered: a store that fails is a failure of the call.
      val first = Option.when(extent.from < extent.until)(logs.logPart(id, extent.from, extent.until))
      (extent, first.flatten)
    .map: (extent, first) =>
      val more = Source.unfoldAsync(first): present =>
        present.fold(Future.successful(None)): part =>
          val next = if part.next < extent.until then readPart(id, part.next, extent.until) else Done
          next.map(following => Some(following -> part))
      val objects = more.mapConcat(part => objectsOf(part, worker))
      Right(response(head(id, extent.truncated), objects))

  private def readPart(id: FlareId, from: Long, until: Long): Future[Option[LogPart]] =
    blocking(logs.logPart(id, from, until)).map: part =>
      Some(part.getOrElse(throw Cleared(id)))

private object LogAnswer:
  private val Done: Future[Option[LogPart]] = Future.successful(None)

  private final class Cleared(id: FlareId)
      extends RuntimeException(s"the log of flare ${id.value} was cleared while it was read")

  /** Lines that are written to the connection at a time. */
  private val Together = 200

  private def head(id: FlareId, truncated: Boolean): String =
    s"""{"flareId":${id.asJson.noSpaces},"truncated":$truncated,"logs":["""

  /** A few lines at a time, each written when it is asked for. */
  private def objectsOf(part: LogPart, worker: Option[Int]): Iterator[String] =
    val texts = part.texts.iterator.filter(text => worker.forall(text.worker.contains))
    texts.flatMap(text => text.lines.map(line => objectOf(text, line))).grouped(Together).map(_.mkString(","))

  private def objectOf(text: LogText, line: String): String = Json
    .obj(
      "worker" -> text.worker.asJson,
      "pack" -> text.pack.asJson,
      "stream" -> text.stream.asJson,
      "at" -> text.at.asJson,
      "line" -> line.asJson
    )
    .noSpaces

  private def response(head: String, objects: Source[String, NotUsed]): HttpResponse =
    val body = objects.intersperse(head, ",", "]}").map(ByteString(_))
    HttpResponse(StatusCodes.OK, entity = HttpEntity.Chunked.fromData(ContentTypes.`application/json`, body))
