package burst.controller.blob

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.{CREATE_NEW, READ, WRITE}
import java.nio.file.{Files, NoSuchFileException, Path}
import scala.util.Using

/** Packages as files named by their hash and a tag. A copy appears under its name only when all its bytes are
  * on the disk, so that a crash leaves at most a temporary file, which the next start removes.
  */
final class DirectoryPackageStore private (directory: Path) extends PackageStore:
  def put(copy: PackageCopy, bytes: Array[Byte]): Unit =
    val temporary = directory.resolve(s"${Directories.Incoming}${java.util.UUID.randomUUID}")
    try
      Using.resource(FileChannel.open(temporary, CREATE_NEW, WRITE)): channel =>
        val buffer = ByteBuffer.wrap(bytes)
        while buffer.hasRemaining do channel.write(buffer)
        channel.force(true)
      Files.move(temporary, path(copy), ATOMIC_MOVE)
    finally Files.deleteIfExists(temporary)
    Directories.flush(directory)

  def size(copy: PackageCopy): Option[Long] =
    try Some(Files.size(path(copy)))
    catch case _: NoSuchFileException => None

  def read(copy: PackageCopy, offset: Long, length: Int): Option[Array[Byte]] =
    try
      Using.resource(FileChannel.open(path(copy), READ)): channel =>
        val from = offset.max(0).min(channel.size)
        val buffer = ByteBuffer.allocate((channel.size - from).min(length.max(0)).toInt)
        while buffer.hasRemaining && channel.read(buffer, from + buffer.position) >= 0 do ()
        Some(java.util.Arrays.copyOf(buffer.array, buffer.position))
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
