package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.Path
import org.apache.pekko.NotUsed
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString

/** What flares have that is too large for the database, by flare and name. Implementations: a directory, a
  * bucket. Calls block, but for [[read]]; a bucket that fails or does not answer in time is a
  * [[BlobStoreException]].
  */
trait FlareBlobStore extends AutoCloseable:
  /** Stores a file's content, in place of what has that name, and may take the file itself. Durable on
    * return, never partial. When the file is gone, as a call before has stored it, nothing is done.
    */
  def put(id: FlareId, name: BlobName, file: Path): Unit

  /** Read as it is asked for; fails when it is not there. */
  def read(id: FlareId, name: BlobName): Source[ByteString, NotUsed]

  /** The whole of one whose size is bounded; `NoSuchFileException` when it is not there. */
  def load(id: FlareId, name: BlobName): ByteString

  /** All that a flare has here but `keep`. */
  def delete(id: FlareId, keep: Set[BlobName] = Set.empty): Unit

  /** One of them, if it is there. */
  def delete(id: FlareId, name: BlobName): Unit

  /** The flares that have something here, for sweeping out what is left of those that are gone. */
  def flares(): Vector[FlareId]

  override def close(): Unit = ()

/** What of a flare a blob holds. */
final case class BlobName private (text: String)

object BlobName:
  /** What all workers were given. */
  val Inputs: BlobName = BlobName("inputs")

  def output(worker: Int): BlobName = BlobName(worker.toString)

  /** A part of the log: the `number`th that `writer` wrote. */
  def log(writer: String, number: Long): BlobName = BlobName(s"log-$writer-$number")

  /** As a record has it. */
  private[controller] def stored(text: String): BlobName = BlobName(text)
