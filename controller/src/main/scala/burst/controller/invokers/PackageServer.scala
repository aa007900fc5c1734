package burst.controller.invokers

import burst.controller.blob.PackageSource
import burst.protocol.{FetchPackage, PackageChunk, PackageMissing, PackageReply, PackageRequest}
import org.apache.pekko.util.ByteString
import org.slf4j.Logger
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** Sends packages to invokers in chunks, outside the actor's thread. An invoker requests the next chunk when
  * it has the last, so that no more than one per transfer is ever in memory.
  */
final class PackageServer(source: PackageSource, chunk: Int, blocking: ExecutionContext, log: Logger):

  /** Answers with the chunk at the requested offset, empty at the end of the package. If it cannot be read
    * there is no answer: an invoker that gets none asks again, whereas one that was told that the package is
    * missing would not.
    */
  def serve(request: PackageRequest): Unit =
    import request.fetch
    Future {
      try request.replyTo ! read(fetch)
      catch
        case NonFatal(failure) => log.error(s"package ${fetch.packageId.value} cannot be read", failure)
    }(using blocking)
    ()

  private def read(fetch: FetchPackage): PackageReply =
    val found =
      for
        total <- source.size(fetch.packageId)
        if fetch.offset >= 0
        bytes <-
          if fetch.offset >= total then Some(Array.emptyByteArray)
          else source.read(fetch.packageId, fetch.offset, (total - fetch.offset).min(chunk).toInt)
      yield PackageChunk(fetch.packageId, fetch.offset, ByteString.fromArrayUnsafe(bytes), total)
    found.getOrElse(PackageMissing(fetch.packageId))

object PackageServer:
  /** Messages between machines must stay small: nothing else gets through while one is on its way. */
  val LargestChunk: Int = 1024 * 1024
