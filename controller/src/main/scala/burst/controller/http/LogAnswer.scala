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

/** `GET …/logs`: a log may be large, and what is said of its lines larger, so that it is written while it is
  * read, one part at a time, and as fast as the client takes it.
  *
  * What a client gets is the log as it was when it asked. One that is cleared meanwhile (the flare failed and
  * is run again) cannot be told to its end: then the connection breaks, as any other way to end would pass
  * for the whole.
  */
final class LogAnswer(logs: LogReader, transfers: Transfers)(using ExecutionContext):
  import LogAnswer.*

  def apply(namespace: String, id: FlareId, worker: Option[Int], from: Option[Long]): Answer =
    val wanted = (text: LogText) => worker.forall(text.worker.contains)
    lines(namespace, id, wanted, from.getOrElse(0))(objectOf).map: (extent, objects) =>
      Right(response(head(id, extent), objects))

  /** The log as it is now, since a position in it: of the texts that are wanted each line as JSON, some at a
    * time with commas between.
    */
  def lines(namespace: String, id: FlareId, wanted: LogText => Boolean, since: Long = 0)(
      json: (LogText, String) => String
  ): Future[(LogExtent, Source[String, NotUsed])] =
    // Parts may be in the bucket.
    val blocking = Blocking(transfers.of(namespace))
    blocking:
      val extent = logs.logExtent(id).since(since)
      // The first part is read before anything is answered: a store that fails is a failure of the call.
      val first = Option.when(extent.from < extent.until)(logs.logPart(id, extent.from, extent.until))
      (extent, first.flatten)
    .map: (extent, first) =>
      // Not held for as long as the rest takes.
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

  /** Characters that are written to the connection at a time, and the rest of a line. */
  private val Together = 16 * 1024

  private def head(id: FlareId, extent: LogExtent): String =
    s"""{"flareId":${id.asJson.noSpaces},"truncated":${extent.truncated},"next":${extent.until},"logs":["""

  private def linesOf(
      part: LogPart,
      wanted: LogText => Boolean,
      json: (LogText, String) => String
  ): Iterator[String] =
    part.texts.iterator.filter(wanted).flatMap(text => text.lines.map(line => json(text, line)))

  /** A few lines at a time, each written when it is asked for. */
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
