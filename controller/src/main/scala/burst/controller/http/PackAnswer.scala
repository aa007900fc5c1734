package burst.controller.http

import burst.controller.action.BurstPack
import burst.controller.blob.{BlobName, FlareBlobStore}
import burst.controller.flare.{Output, WorkerResult}
import burst.controller.store.{Blocking, ResultReader, Transfers}
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.NotUsed
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.ExecutionContext

/** The outputs of the workers of a burst's pack, as one array in the order of the workers: read a page of
  * workers at a time, and large outputs a piece at a time.
  */
final class PackAnswer(
    results: ResultReader,
    blobs: FlareBlobStore,
    blocking: Blocking,
    transfers: Transfers
):
  import PackAnswer.*

  def outputs(pack: BurstPack): Source[ByteString, NotUsed] =
    given ExecutionContext = transfers.of(pack.flare.namespace)
    val flare = pack.flare.id
    val all = Source(pack.pack.workers.grouped(PageSize).toVector)
      .mapAsync(1): page =>
        blocking:
          val found =
            results.results(flare, page.min, page.max + 1).map(result => result.worker -> result).toMap
          page.map(worker => worker -> found.get(worker))
      .mapConcat(identity)
      .zipWithIndex
      .flatMapConcat:
        case ((worker, result), index) =>
          val comma = if index > 0 then ByteString(",") else ByteString.empty
          val value = result.flatMap(_.output) match
            case Some(Output.Inline(text)) => Source.single(text.bytes)
            case Some(_: Output.OutOfLine) => blobs.read(flare, BlobName.output(worker))
            case None => Source.single(missing(result))
          Source.single(comma).concat(value)
    Source.single(ByteString("[")).concat(all).concat(Source.single(ByteString("]")))

private object PackAnswer:
  /** How many workers are read at a time: their outputs in the database have a quarter of a megabyte
    * together.
    */
  val PageSize = 8

  def missing(result: Option[WorkerResult]): ByteString =
    val why = result.flatMap(_.error).fold("The worker has no output.")(_.message)
    ByteString(Json.obj("error" -> why.asJson).noSpaces)
