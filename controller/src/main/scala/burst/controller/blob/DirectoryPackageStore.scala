package burst.controller.blob

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.{CREATE_NEW, WRITE}
import java.nio.file.{Files, NoSuchFileException, Path}
import scala.util.Using

/** Packages as files named by their hash and a tag. A copy appears under its name only when all its bytes are
  * on the disk, so that a crash leaves at most a temporary file, which the next start removes.
  */
final class DirectoryPackageStore private (directory: Path) extends PackageStore:
  def put(copy: PackageCopy, bytes: Array[Byte]): Unit = Directories.attempt("storing a package"):
    val temporary = directory.resolve(s"${Directories.Incoming}${java.util.UUID.randomUUID}")
    try
      Using.resource(FileChannel.open(temporary, CREATE_NEW, WRITE)): channel =>
        FileBytes.write(channel, ByteBuffer.wrap(bytes))
        channel.force(true)
      Files.move(temporary, path(copy), ATOMIC_MOVE)
    finally Files.deleteIfExists(temporary)
    Directories.flush(directory)

  def size(copy: PackageCopy): Option[Long] =
    try Some(Files.size(path(copy)))
    catch case _: NoSuchFileException => None

  def read(copy: PackageCopy, offset: Long, length: Int): Option[Array[Byte]] =
    try Some(FileBytes.read(path(copy), offset, length))
    catch case _: NoSuchFileException => None

  def delete(copy: PackageCopy): Unit = Files.deleteIfExists(path(copy))

  def copies(): Vector[PackageCopy] = Directories.names(directory).flatMap(PackageCopy.parse)

  private def path(copy: PackageCopy): Path = directory.resolve(copy.name)

object DirectoryPackageStore:
  def open(directory: Path): DirectoryPackageStore =
    Files.createDirectories(directory)
    Directories.names(directory)
      .filter(_.startsWith(Directories.Incoming))
      .foreach(name => Files.deleteIfExists(directory.resolve(name)))
    DirectoryPackageStore(directory)
