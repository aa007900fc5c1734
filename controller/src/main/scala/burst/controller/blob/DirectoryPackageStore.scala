package burst.controller.blob

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.{CREATE_NEW, READ, WRITE}
import java.nio.file.{Files, NoSuchFileException, Path}
import scala.jdk.StreamConverters.*
import scala.util.Using

/** Packages as files named by their hash and a tag. A copy appears under its name only when all its bytes are
  * on the disk, so that a crash leaves at most a temporary file, which the next start removes.
  */
final class DirectoryPackageStore private (directory: Path) extends PackageStore:
  import DirectoryPackageStore.*

  def put(copy: PackageCopy, bytes: Array[Byte]): Unit =
    val temporary = directory.resolve(s"$TemporaryPrefix${java.util.UUID.randomUUID}")
    try
      Using.resource(FileChannel.open(temporary, CREATE_NEW, WRITE)): channel =>
        val buffer = ByteBuffer.wrap(bytes)
        while buffer.hasRemaining do channel.write(buffer)
        channel.force(true)
      Files.move(temporary, path(copy), ATOMIC_MOVE)
    finally Files.deleteIfExists(temporary)
    flushDirectory()

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

  def copies(): Vector[PackageCopy] = names(directory).flatMap(PackageCopy.parse)

  private def path(copy: PackageCopy): Path = directory.resolve(copy.name)

  // A rename is durable once the directory is; where a directory cannot be flushed the file system does it.
  private def flushDirectory(): Unit =
    try Using.resource(FileChannel.open(directory, READ))(_.force(true))
    catch case _: IOException => ()

object DirectoryPackageStore:
  private val TemporaryPrefix = "incoming-"

  def open(directory: Path): DirectoryPackageStore =
    Files.createDirectories(directory)
    names(directory)
      .filter(_.startsWith(TemporaryPrefix))
      .foreach(name => Files.deleteIfExists(directory.resolve(name)))
    DirectoryPackageStore(directory)

  private def names(directory: Path): Vector[String] =
    Using.resource(Files.list(directory))(_.toScala(Vector).map(_.getFileName.toString))
