package burst.invoker.driver

import java.nio.file.{Files, NoSuchFileException, Path, StandardCopyOption}
import java.util.UUID

/** Tells what belongs to a directory from others, across restarts: kept there, so that who has the directory
  * owns the containers, or the invoker's place in the cluster.
  */
object Owner:
  def in(directory: Path): String =
    val file = directory.resolve("owner")
    try Files.readString(file).trim
    catch
      case _: NoSuchFileException =>
        val owner = UUID.randomUUID.toString.replace("-", "")
        Files.createDirectories(directory)
        val written = Files.writeString(directory.resolve("owner.new"), owner)
        Files.move(written, file, StandardCopyOption.ATOMIC_MOVE)
        owner
