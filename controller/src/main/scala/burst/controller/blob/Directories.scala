package burst.controller.blob

import java.io.IOException
import java.nio.channels.FileChannel
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.{READ, WRITE}
import java.nio.file.{AtomicMoveNotSupportedException, Files, OpenOption, Path}
import scala.jdk.StreamConverters.*
import scala.util.Using

/** Writes files that appear under their names only when they are complete and on disk. */
private[blob] object Directories:
  /** The prefix of files that do not have their names yet. */
  val Incoming = "incoming-"

  /** Performs a change; an I/O error becomes a [[BlobStoreException]]. */
  def attempt[A](operation: String)(work: => A): A =
    try work
    catch case cause: IOException => throw BlobStoreException(operation, cause)

  /** Moves a file to its target, durably. From another file system it is copied first. */
  def move(file: Path, target: Path): Unit =
    flush(file, WRITE)
    try
      val _ = Files.move(file, target, ATOMIC_MOVE)
    catch
      case _: AtomicMoveNotSupportedException =>
        val copy = target.resolveSibling(s"$Incoming${java.util.UUID.randomUUID}")
        try
          Files.copy(file, copy)
          flush(copy, WRITE)
          Files.move(copy, target, ATOMIC_MOVE)
        finally Files.deleteIfExists(copy)
        Files.delete(file)
    flush(target.getParent)

  /** Flushes a directory, which makes renames in it durable; if it cannot be flushed, the file system does
    * this itself.
    */
  def flush(directory: Path): Unit =
    try flush(directory, READ)
    catch case _: IOException => ()

  def names(directory: Path): Vector[String] = paths(directory).map(_.getFileName.toString)

  def paths(directory: Path): Vector[Path] = Using.resource(Files.list(directory))(_.toScala(Vector))

  private def flush(path: Path, mode: OpenOption): Unit =
    Using.resource(FileChannel.open(path, mode))(_.force(true))
