package burst.controller.scheduler

import burst.controller.blob.OutputStore
import burst.controller.flare.{Output, OutputPiece}
import burst.protocol.FlareId
import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption.{CREATE, WRITE}
import java.nio.file.{Files, Path}
import java.util.Comparator
import scala.util.Using

/** Gathers large outputs in files of this controller until they are whole, and hands them to the store. Calls
  * block; each may be made again after a failure.
  */
final class OutputKeeper private (directory: Path, store: OutputStore):

  /** Pieces at their places. */
  def write(id: FlareId, pieces: Vector[OutputPiece]): Unit =
    pieces.groupBy(_.worker).foreach: (worker, own) =>
      Files.createDirectories(directory.resolve(id.value))
      Using.resource(FileChannel.open(file(id, worker), CREATE, WRITE)): channel =>
        own.foreach: piece =>
          val bytes = piece.bytes.asByteBuffer
          while bytes.hasRemaining do channel.write(bytes, piece.end - bytes.remaining)

  /** The output of a worker is whole. */
  def keep(id: FlareId, worker: Int, output: Output): Unit = output match
    case Output.Inline(_) => ()
    case Output.Kept(_) => store.put(id, worker, file(id, worker))

  /** Nothing more comes: what is not whole by now never will be. */
  def settle(id: FlareId): Unit = OutputKeeper.delete(directory.resolve(id.value))

  /** Nothing of the flare's outputs is kept. */
  def forget(id: FlareId): Unit =
    settle(id)
    store.delete(id)

  private def file(id: FlareId, worker: Int): Path = directory.resolve(id.value).resolve(worker.toString)

object OutputKeeper:
  /** Of no other controller; what an earlier life left there is of flares that have ended since. */
  def open(directory: Path, store: OutputStore): OutputKeeper =
    delete(directory)
    Files.createDirectories(directory)
    OutputKeeper(directory, store)

  private def delete(directory: Path): Unit =
    if Files.exists(directory) then
      Using.resource(
        Files.walk(directory)
      )(_.sorted(Comparator.reverseOrder).forEach(Files.deleteIfExists(_)))
