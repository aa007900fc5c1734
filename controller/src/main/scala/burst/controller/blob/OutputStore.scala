package burst.controller.blob

import burst.protocol.FlareId
import java.nio.file.Path
import org.apache.pekko.NotUsed
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString

/** Outputs of workers that are too large for the database, by flare and worker. Implementations: a directory,
  * a bucket. Calls block, but for [[read]]; a bucket that fails or does not answer in time is a
  * [[BlobStoreException]].
  */
trait OutputStore extends AutoCloseable:
  /** Stores a file's content, and may take the file itself. Durable on return, never partial; storing again
    * what is there already is free, also when the file is gone by then.
    */
  def put(id: FlareId, worker: Int, file: Path): Unit

  /** Read as it is asked for; fails when it is not there. */
  def read(id: FlareId, worker: Int): Source[ByteString, NotUsed]

  /** All that a flare has here. */
  def delete(id: FlareId): Unit

  /** The flares that have something here, for sweeping out what is left of those that are gone. */
  def flares(): Vector[FlareId]

  override def close(): Unit = ()
