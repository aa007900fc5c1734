package burst.invoker.driver

import java.nio.file.{Files, NoSuchFileException, Path, StandardCopyOption}
import java.util.UUID

/** A data directory's own id, kept there across restarts: whoever has the directory owns the containers
  * marked with the id, and the invoker's place in the cluster.
  */
object DirectoryId:
  def in(directory: Path): String =
    val file = directory.resolve("owner")
    try Files.readString(file).trim
    catch
      case _: NoSuchFileException =>
        val id = UUID.randomUUID.toString.replace("-", "")
        Files.createDirectories(directory)
        val written = Files.writeString(directory.resolve("owner.new"), id)
        Files.move(written, file, StandardCopyOption.ATOMIC_MOVE)
        id
