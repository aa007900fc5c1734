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

/** Gathers what of flares is too large for the database in files of this controller until it is whole, and
  * hands it to the store. Calls block; each may be made again after a failure.
  */
final class Spool private (directory: Path, blobs: FlareBlobStore):

  /** Pieces of outputs at their offsets. */
  def write(id: FlareId, pieces: Vector[OutputPiece]): Unit =
    pieces.groupBy(_.worker).foreach: (worker, own) =>
      Using.resource(FileChannel.open(file(id, BlobName.output(worker)), CREATE, WRITE)): channel =>
        own.foreach: piece =>
          channel.position(piece.end - piece.bytes.length)
          FileBytes.write(channel, piece.bytes.asByteBuffer)

  /** The output of a worker is whole. */
  def keep(id: FlareId, worker: Int, output: Output): Unit = output match
    case Output.Inline(_) => ()
    case Output.OutOfLine(_) =>
      val name = BlobName.output(worker)
      blobs.put(id, name, file(id, name))

  /** Inputs that stand beside the record. */
  def keepInputs(flare: Flare): Unit = flare.request.inputs match
    case large if Spool.isLarge(large) => whole(flare.id, BlobName.Inputs, InputsFile.encode(large))
    case _ => ()

  /** A part of the log. */
  def keepLog(id: FlareId, name: BlobName, texts: Vector[LogText]): Unit =
    whole(id, name, Iterator.single(ByteString.fromArrayUnsafe(LogChunk.encode(texts))))

  /** Whether there is something of a flare that is not whole. */
  def gathers(id: FlareId): Boolean = Files.exists(own(id))

  /** Nobody needs the inputs of a flare that has ended. */
  def forgetInputs(id: FlareId): Unit = blobs.delete(id, BlobName.Inputs)

  /** What is gathered here of a flare is of no use any more: what is not whole at its end never will be. */
  def discard(id: FlareId): Unit = Spool.delete(own(id))

  /** Nothing is kept of what an attempt left. */
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
  /** Of no other controller; what an earlier life left there is of flares that have ended since. */
  def open(directory: Path, blobs: FlareBlobStore): Spool =
    PrivateFile.directory(directory)
    // The directory may be one that others use, too: only what a spool puts there is deleted.
    val left = Using.resource(Files.list(directory))(_.toScala(Vector))
    left.filter(own => FlareId.parse(own.getFileName.toString).isDefined).foreach(delete)
    Spool(directory, blobs)

  /** The flare as its record is stored: large inputs stand beside it. */
  def besides(flare: Flare): Flare =
    if isLarge(flare.request.inputs) then flare.copy(request = flare.request.withoutInputs) else flare

  def isLarge(inputs: Inputs): Boolean = inputs.length > Inputs.Small

  def hasLargeInputs(flare: Flare): Boolean = isLarge(flare.request.inputs)

  private def delete(directory: Path): Unit =
    if Files.exists(directory) then
      Using.resource(
        Files.walk(directory)
      )(_.sorted(Comparator.reverseOrder).forEach(Files.deleteIfExists(_)))
