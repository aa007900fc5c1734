package burst.controller.http

import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.flare.{Flare, Output, WorkerResult}
import burst.controller.store.{Blocking, FlareStore, Transfers}
import burst.protocol.FlareId
import io.circe.syntax.*
import org.apache.pekko.NotUsed
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpResponse, StatusCode}
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString

/** What the workers of a flare put out, as it is read from the store: a page of workers at a time, and large
  * outputs a piece at a time. Whoever goes away ends the reading. Should the store fail in the middle, or the
  * flare run again, the answer breaks off, which a client cannot take for its end.
  */
final class ResultAnswer(
    flares: FlareStore,
    blobs: FlareBlobStore,
    blocking: Blocking,
    transfers: Transfers
):
  import ResultAnswer.*

  def apply(status: StatusCode, flare: Flare): HttpResponse =
    val head = s"""{"flareId":${flare.id.asJson.noSpaces},"state":${flare.state.asJson.noSpaces},""" +
      s""""error":${flare.error.asJson.noSpaces},"outputs":["""
    val body = Source.single(ByteString(head)) ++ workers(flare) ++ Source.single(ByteString("]}"))
    HttpResponse(status, entity = HttpEntity(ContentTypes.`application/json`, body))

  /** Every worker has its place, also those that have nothing to show yet. */
  private def workers(flare: Flare): Source[ByteString, NotUsed] =
    Source(Vector.range(0, flare.request.size, Page))
      .mapAsync(1): from =>
        val until = (from + Page).min(flare.request.size)
        blocking(ofAttempt(flare)(flares.results(
          flare.id,
          from,
          until
        ))).map(found => (from, until, found))(using
          scala.concurrent.ExecutionContext.parasitic
        )
      .flatMapConcat: (from, until, found) =>
        val byWorker = found.iterator.map(result => result.worker -> result).toMap
        Source(Vector.range(from, until)).flatMapConcat(worker => shown(flare, worker, byWorker.get(worker)))

  private def shown(flare: Flare, worker: Int, result: Option[WorkerResult]): Source[ByteString, NotUsed] =
    val comma = if worker > 0 then "," else ""
    val begin = s"""$comma{"worker":$worker"""
    val error = result.flatMap(_.error).fold("")(failure => s""","error":${failure.asJson.noSpaces}""")
    result.flatMap(_.output) match
      case None => Source.single(ByteString(s"$begin$error}"))
      case Some(Output.Inline(text)) =>
        Source.single(ByteString(s"""$begin,"output":""") ++ text.bytes ++ ByteString(s"$error}"))
      case Some(_: Output.Kept) =>
        Source.single(ByteString(s"""$begin,"output":""")) ++
          blobs.read(
            flare.id,
            BlobName.output(worker)
          )(using transfers.of(flare.namespace)).mapAsync(1)(piece =>
            blocking(ofAttempt(flare)(piece))
          ) ++ Source.single(ByteString(s"$error}"))

  /** What was read, if it is of the attempt the answer began with. A flare that has not ended may run again:
    * its next attempt puts other outputs in place of these, once the store says that it is at that attempt.
    */
  private def ofAttempt[A](flare: Flare)(read: => A): A =
    val value = read
    if !flare.state.isFinal && !flares.attempt(flare.id).contains(flare.attempt) then
      throw RunsAgain(flare.id)
    value

object ResultAnswer:
  private final class RunsAgain(id: FlareId)
      extends RuntimeException(s"flare ${id.value} runs again, or is gone, since its result was asked for")

  /** Workers whose results are read at once: their inline outputs have half a megabyte. */
  private val Page = 16
