package burst.controller.blob

import burst.protocol.FlareId
import java.nio.channels.FileChannel
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.WRITE
import java.nio.file.{Files, NoSuchFileException, Path}
import org.apache.pekko.NotUsed
import org.apache.pekko.stream.scaladsl.{FileIO, Source}
import org.apache.pekko.util.ByteString
import scala.jdk.StreamConverters.*
import scala.util.Using

/** Blobs as files, in a directory of their flare. A file appears under its name when it is whole and on the
  * disk.
  */
final class DirectoryFlareBlobStore private (directory: Path) extends FlareBlobStore:
  def put(id: FlareId, name: BlobName, file: Path): Unit =
    val target = path(id, name)
    if Files.exists(file) then
      Files.createDirectories(target.getParent)
      Using.resource(FileChannel.open(file, WRITE))(_.force(true))
      val _ = Files.move(file, target, ATOMIC_MOVE)
    else if !Files.exists(target) then throw NoSuchFileException(file.toString)

  def read(id: FlareId, name: BlobName): Source[ByteString, NotUsed] =
    FileIO.fromPath(path(id, name), DirectoryFlareBlobStore.Piece).mapMaterializedValue(_ => NotUsed)

  def load(id: FlareId, name: BlobName): ByteString =
    ByteString.fromArrayUnsafe(Files.readAllBytes(path(id, name)))

  def delete(id: FlareId, keep: Set[BlobName]): Unit =
    val own = directory.resolve(id.value)
    if Files.exists(own) then
      val (kept, going) =
        Using.resource(Files.list(own))(_.toScala(Vector)).partition: file =>
          keep.exists(_.text == file.getFileName.toString)
      going.foreach(Files.deleteIfExists(_))
      if kept.isEmpty then
        val _ = Files.deleteIfExists(own)

  def delete(id: FlareId, name: BlobName): Unit =
    val _ = Files.deleteIfExists(path(id, name))

  def flares(): Vector[FlareId] =
    Using.resource(Files.list(directory))(_.toScala(Vector).flatMap(path =>
      FlareId.parse(path.getFileName.toString)
    ))

  private def path(id: FlareId, name: BlobName): Path = directory.resolve(id.value).resolve(name.text)

object DirectoryFlareBlobStore:
  private val Piece = 64 * 1024

  def open(directory: Path): DirectoryFlareBlobStore =
    Files.createDirectories(directory)
    DirectoryFlareBlobStore(directory)
