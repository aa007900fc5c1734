package burst.invoker.driver

import java.io.IOException
import java.nio.file.attribute.{BasicFileAttributes, PosixFilePermission, PosixFilePermissions}
import java.nio.file.{FileVisitResult, Files, Path, SimpleFileVisitor}
import java.util.Set as JavaSet
import org.slf4j.LoggerFactory

/** A package's files in a second place, for a container that existed before its package. Blocks. */
private[driver] object PackageFiles:
  private val log = LoggerFactory.getLogger("burst.invoker.driver.PackageFiles")

  /** The permissions by which every container's user can read a directory. */
  val Readable: JavaSet[PosixFilePermission] = PosixFilePermissions.fromString("rwxr-xr-x")

  /** Makes `target`, which is empty, a copy of `source` by hard links. */
  def link(source: Path, target: Path): Unit =
    val _ = Files.walkFileTree(
      source,
      new SimpleFileVisitor[Path]:
        override def preVisitDirectory(directory: Path, attributes: BasicFileAttributes): FileVisitResult =
          if directory != source then
            val copy = Files.createDirectory(target.resolve(source.relativize(directory)))
            Files.setPosixFilePermissions(copy, Readable)
          FileVisitResult.CONTINUE
        override def visitFile(file: Path, attributes: BasicFileAttributes): FileVisitResult =
          Files.createLink(target.resolve(source.relativize(file)), file)
          FileVisitResult.CONTINUE
    )

  /** Deletes a directory with everything in it, if it exists. */
  def delete(directory: Path): Unit =
    try
      if Files.exists(directory) then
        val _ = Files.walkFileTree(
          directory,
          new SimpleFileVisitor[Path]:
            override def visitFile(file: Path, attributes: BasicFileAttributes): FileVisitResult =
              Files.delete(file)
              FileVisitResult.CONTINUE
            override def postVisitDirectory(directory: Path, problem: IOException): FileVisitResult =
              Files.delete(directory)
              FileVisitResult.CONTINUE
        )
    catch case problem: IOException => log.warn("{} cannot be deleted: {}", directory, problem.getMessage)
