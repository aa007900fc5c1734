package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.{NoSuchFileException, Path}
import org.apache.pekko.NotUsed
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** What flares have that is too large for the database, by flare and name. Implementations: a directory, a
  * bucket. Calls block, but for [[read]]; a bucket that fails or does not answer in time is a
  * [[BlobStoreException]], as is a disk that does not take what is put there.
  */
trait FlareBlobStore extends AutoCloseable:
  /** Stores a file's content, in place of what has that name, and may take the file itself. Durable on
    * return, never partial. When the file is gone, as a call before has stored it, nothing is done.
    */
  def put(id: FlareId, name: BlobName, file: Path): Unit

  /** Read as it is asked for, a piece at a time and nothing ahead, on these threads; fails when it is not
    * there.
    */
  final def read(id: FlareId, name: BlobName)(using threads: ExecutionContext): Source[ByteString, NotUsed] =
    import FlareBlobStore.Piece
    Source.unfoldAsync(Option(0L)):
      case None => Future.successful(None)
      case Some(from) =>
        Future(piece(id, name, from, Piece)).map: bytes =>
          val next = Option.when(bytes.length == Piece)(from + Piece)
          Option.when(bytes.nonEmpty)((next, bytes))

  /** Up to `length` bytes from that offset, none beyond the end; `NoSuchFileException` when it is not there.
    */
  def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString

  /** The whole of one whose size is bounded; `NoSuchFileException` when it is not there. */
  def load(id: FlareId, name: BlobName): ByteString

  /** All that a flare has here but `keep`. */
  def delete(id: FlareId, keep: Set[BlobName] = Set.empty): Unit

  /** One of them, if it is there. */
  def delete(id: FlareId, name: BlobName): Unit

  /** The flares that have something here, for sweeping out what is left of those that are gone. */
  def flares(): Vector[FlareId]

  /** Throws when it cannot be reached now. */
  def probe(): Unit =
    try
      val _ = piece(FlareId.random(), BlobName.Inputs, 0, 1)
    catch case _: NoSuchFileException => ()

  override def close(): Unit = ()

object FlareBlobStore:
  /** As many may be read as there are connections, each by somebody slow. */
  private val Piece = 256 * 1024

/** What of a flare a blob holds. */
final case class BlobName private (text: String)

object BlobName:
  /** What all workers were given. */
  val Inputs: BlobName = BlobName("inputs")

  def output(worker: Int): BlobName = BlobName(worker.toString)

  /** A part of the log, of the `batch`th that `writer` wrote. */
  def log(writer: String, batch: Long, part: Int = 0): BlobName = BlobName(s"log-$writer-$batch-$part")

  /** As a record has it. */
  private[controller] def stored(text: String): BlobName = BlobName(text)
