package burst.controller.blob

import burst.protocol.FlareId
import java.nio.channels.FileChannel
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.WRITE
import java.nio.file.{Files, NoSuchFileException, Path}
import java.util.Comparator
import org.apache.pekko.NotUsed
import org.apache.pekko.stream.scaladsl.{FileIO, Source}
import org.apache.pekko.util.ByteString
import scala.jdk.StreamConverters.*
import scala.util.Using

/** Outputs as files, in a directory of their flare. A file appears under its name when it is whole and on the
  * disk.
  */
final class DirectoryOutputStore private (directory: Path) extends OutputStore:
  def put(id: FlareId, worker: Int, file: Path): Unit =
    val target = path(id, worker)
    if Files.exists(file) then
      Files.createDirectories(target.getParent)
      Using.resource(FileChannel.open(file, WRITE))(_.force(true))
      val _ = Files.move(file, target, ATOMIC_MOVE)
    else if !Files.exists(target) then throw NoSuchFileException(file.toString)

  def read(id: FlareId, worker: Int): Source[ByteString, NotUsed] =
    FileIO.fromPath(path(id, worker), DirectoryOutputStore.Piece).mapMaterializedValue(_ => NotUsed)

  def delete(id: FlareId): Unit =
    val own = directory.resolve(id.value)
    if Files.exists(own) then
      Using.resource(Files.walk(own))(_.sorted(Comparator.reverseOrder).forEach(Files.deleteIfExists(_)))

  def flares(): Vector[FlareId] =
    Using.resource(Files.list(directory))(_.toScala(Vector).flatMap(path =>
      FlareId.parse(path.getFileName.toString)
    ))

  private def path(id: FlareId, worker: Int): Path = directory.resolve(id.value).resolve(worker.toString)

object DirectoryOutputStore:
  private val Piece = 64 * 1024

  def open(directory: Path): DirectoryOutputStore =
    Files.createDirectories(directory)
    DirectoryOutputStore(directory)
