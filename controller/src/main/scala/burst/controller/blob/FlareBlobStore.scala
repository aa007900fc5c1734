package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.{NoSuchFileException, Path}
import org.apache.pekko.NotUsed
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** Data of flares that is too large for the database, by flare and name. Implementations: a directory, a
  * bucket. Calls block, except [[read]]; if a bucket fails or does not answer in time, or a disk refuses a
  * write, they throw [[BlobStoreException]].
  */
trait FlareBlobStore extends AutoCloseable:
  /** Stores a file's content, replacing any blob of that name; may move the file itself. Durable on return,
    * never partial. If the file is missing because an earlier call has stored it, does nothing.
    */
  def put(id: FlareId, name: BlobName, file: Path): Unit

  /** Reads a blob on demand, a piece at a time without reading ahead, on these threads; fails if it does not
    * exist.
    */
  final def read(id: FlareId, name: BlobName)(using threads: ExecutionContext): Source[ByteString, NotUsed] =
    import FlareBlobStore.Piece
    Source.unfoldAsync(Option(0L)):
      case None => Future.successful(None)
      case Some(from) =>
        Future(piece(id, name, from, Piece)).map: bytes =>
          val next = Option.when(bytes.length == Piece)(from + Piece)
          Option.when(bytes.nonEmpty)((next, bytes))

  /** Returns up to `length` bytes from an offset, none beyond the end; throws `NoSuchFileException` if the
    * blob does not exist.
    */
  def piece(id: FlareId, name: BlobName, from: Long, length: Int): ByteString

  /** Returns a whole blob, whose size must be bounded; throws `NoSuchFileException` if it does not exist. */
  def load(id: FlareId, name: BlobName): ByteString

  /** Deletes all blobs of a flare except `keep`. */
  def delete(id: FlareId, keep: Set[BlobName] = Set.empty): Unit

  /** Deletes one blob, if it exists. */
  def delete(id: FlareId, name: BlobName): Unit

  /** Returns the flares that have blobs here, to find leftovers of deleted ones. */
  def flares(): Vector[FlareId]

  /** Throws if the store cannot be reached now. */
  def probe(): Unit =
    try
      val _ = piece(FlareId.random(), BlobName.Inputs, 0, 1)
    catch case _: NoSuchFileException => ()

  override def close(): Unit = ()

object FlareBlobStore:
  /** The size of a piece. There may be as many readers as connections, all of them slow. */
  private val Piece = 256 * 1024

/** The name of a blob, which part of a flare it holds. */
final case class BlobName private (text: String)

object BlobName:
  /** The inputs of all workers. */
  val Inputs: BlobName = BlobName("inputs")

  def output(worker: Int): BlobName = BlobName(worker.toString)

  /** A part of the log, from the `batch`th batch that `writer` wrote. */
  def log(writer: String, batch: Long, part: Int = 0): BlobName = BlobName(s"log-$writer-$batch-$part")

  /** Returns the name as it is stored in a record. */
  private[controller] def stored(text: String): BlobName = BlobName(text)
