package burst.controller.scheduler

import burst.node.PrivateFile
import burst.controller.blob.{BlobName, FileBytes, FlareBlobStore}
import burst.controller.flare.{Flare, LogText, Output, OutputPiece}
import burst.controller.store.{InputsFile, LogChunk}
import burst.protocol.{FlareId, Inputs}
import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption.{CREATE, TRUNCATE_EXISTING, WRITE}
import java.nio.file.{Files, Path}
import java.util.Comparator
import org.apache.pekko.util.ByteString
import scala.jdk.StreamConverters.*
import scala.util.Using

/** Gathers data of flares that is too large for the database in files of this controller until it is
  * complete, and hands it to the store. Calls block; each may be repeated after a failure.
  */
final class Spool private (directory: Path, blobs: FlareBlobStore):

  /** Writes pieces of outputs at their offsets. */
  def write(id: FlareId, pieces: Vector[OutputPiece]): Unit =
    pieces.groupBy(_.worker).foreach: (worker, own) =>
      Using.resource(FileChannel.open(file(id, BlobName.output(worker)), CREATE, WRITE)): channel =>
        own.foreach: piece =>
          channel.position(piece.end - piece.bytes.length)
          FileBytes.write(channel, piece.bytes.asByteBuffer)

  /** The output of a worker is complete: stores it. */
  def keep(id: FlareId, worker: Int, output: Output): Unit = output match
    case Output.Inline(_) => ()
    case Output.OutOfLine(_) =>
      val name = BlobName.output(worker)
      blobs.put(id, name, file(id, name))

  /** Stores inputs that are kept outside the record. */
  def keepInputs(flare: Flare): Unit = flare.request.inputs match
    case large if Spool.isLarge(large) => whole(flare.id, BlobName.Inputs, InputsFile.encode(large))
    case _ => ()

  /** Stores a part of the log. */
  def keepLog(id: FlareId, name: BlobName, texts: Vector[LogText]): Unit =
    whole(id, name, Iterator.single(ByteString.fromArrayUnsafe(LogChunk.encode(texts))))

  /** Whether there is incomplete data of a flare. */
  def gathers(id: FlareId): Boolean = Files.exists(own(id))

  /** Deletes the inputs of a flare that has ended. */
  def forgetInputs(id: FlareId): Unit = blobs.delete(id, BlobName.Inputs)

  /** Deletes what is gathered here of a flare: data that is incomplete at its end stays so. */
  def discard(id: FlareId): Unit = Spool.delete(own(id))

  /** Deletes all that an attempt left. */
  def forget(id: FlareId): Unit =
    discard(id)
    blobs.delete(id, keep = Set(BlobName.Inputs))

  private def whole(id: FlareId, name: BlobName, content: Iterator[ByteString]): Unit =
    val spooled = file(id, name)
    Using.resource(FileChannel.open(spooled, CREATE, WRITE, TRUNCATE_EXISTING)): channel =>
      for piece <- content; buffer <- piece.asByteBuffers do FileBytes.write(channel, buffer)
    blobs.put(id, name, spooled)

  private def file(id: FlareId, name: BlobName): Path =
    Files.createDirectories(own(id)).resolve(name.text)

  private def own(id: FlareId): Path = directory.resolve(id.value)

object Spool:
  /** Opens a spool whose directory no other controller uses; data that is left there from an earlier run
    * belongs to flares that have ended since, and is deleted.
    */
  def open(directory: Path, blobs: FlareBlobStore): Spool =
    PrivateFile.directory(directory)
    // The directory may have other users: only what a spool puts there is deleted.
    val left = Using.resource(Files.list(directory))(_.toScala(Vector))
    left.filter(own => FlareId.parse(own.getFileName.toString).isDefined).foreach(delete)
    Spool(directory, blobs)

  /** The flare as its record is stored: without large inputs, which are stored separately. */
  def besides(flare: Flare): Flare =
    if isLarge(flare.request.inputs) then flare.copy(request = flare.request.withoutInputs) else flare

  def isLarge(inputs: Inputs): Boolean = inputs.length > Inputs.Small

  def hasLargeInputs(flare: Flare): Boolean = isLarge(flare.request.inputs)

  private def delete(directory: Path): Unit =
    if Files.exists(directory) then
      Using.resource(
        Files.walk(directory)
      )(_.sorted(Comparator.reverseOrder).forEach(Files.deleteIfExists(_)))
