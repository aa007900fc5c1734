package burst.controller.http

import burst.controller.flare.LogText
import burst.controller.store.{Blocking, LogExtent, LogPart, LogReader, Transfers}
import burst.protocol.FlareId
import io.circe.Json
import io.circe.syntax.*
import java.util.concurrent.atomic.AtomicReference
import org.apache.pekko.NotUsed
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpResponse, StatusCodes}
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** `GET …/logs`. A log may be large, and its JSON larger still, so it is written while it is read, one part
  * at a time, and as fast as the client takes it.
  *
  * The client receives the log as it was when it asked. If the log is cleared meanwhile (the flare failed and
  * runs again), it cannot be sent to its end: then the connection breaks, as any other end would look like a
  * complete log.
  */
final class LogAnswer(logs: LogReader, transfers: Transfers)(using ExecutionContext):
  import LogAnswer.*

  def apply(namespace: String, id: FlareId, worker: Option[Int], from: Option[Long]): Answer =
    val wanted = (text: LogText) => worker.forall(text.worker.contains)
    lines(namespace, id, wanted, from.getOrElse(0))(objectOf).map: (extent, objects) =>
      Right(response(head(id, extent), objects))

  /** Returns the log as it is now, from a position on: each wanted line as JSON, several at a time, separated
    * by commas.
    */
  def lines(namespace: String, id: FlareId, wanted: LogText => Boolean, since: Long = 0)(
      json: (LogText, String) => String
  ): Future[(LogExtent, Source[String, NotUsed])] =
    // Parts of the log may be in the bucket.
    val blocking = Blocking(transfers.of(namespace))
    blocking:
      val extent = logs.logExtent(id).since(since)
      // The first part is read before anything is sent: if the store fails, the call fails.
      val first = Option.when(extent.from < extent.until)(logs.logPart(id, extent.from, extent.until))
      (extent, first.flatten)
    .map: (extent, first) =>
      // So that it is not held while the rest is sent.
      val begun = AtomicReference(first)
      val until = if first.isEmpty then extent.from else extent.until
      val parts = Source.unfoldAsync(extent.from): next =>
        if next >= until then Future.successful(None)
        else
          val ready = begun.getAndSet(None).map(Future.successful)
          ready.getOrElse(blocking(readPart(id, next, until))).map(part => Some(part.next -> part))
      (extent, parts.mapConcat(part => together(linesOf(part, wanted, json))))

  private def readPart(id: FlareId, from: Long, until: Long): LogPart =
    logs.logPart(id, from, until).getOrElse(throw Cleared(id))

private object LogAnswer:
  private final class Cleared(id: FlareId)
      extends RuntimeException(s"the log of flare ${id.value} was cleared while it was read")

  /** How many characters are written to the connection at a time; the last line may exceed it. */
  private val Together = 16 * 1024

  private def head(id: FlareId, extent: LogExtent): String =
    s"""{"flareId":${id.asJson.noSpaces},"truncated":${extent.truncated},"next":${extent.until},"logs":["""

  private def linesOf(
      part: LogPart,
      wanted: LogText => Boolean,
      json: (LogText, String) => String
  ): Iterator[String] =
    part.texts.iterator.filter(wanted).flatMap(text => text.lines.map(line => json(text, line)))

  /** Joins a few lines at a time, each produced on demand. */
  private def together(objects: Iterator[String]): Iterator[String] =
    Iterator.unfold(objects): rest =>
      Option.when(rest.hasNext):
        val some = StringBuilder(rest.next())
        while some.length < Together && rest.hasNext do some.append(',').append(rest.next())
        (some.result(), rest)

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
