package burst.node

import java.nio.file.attribute.PosixFilePermission.{GROUP_READ, GROUP_WRITE, OTHERS_READ, OTHERS_WRITE}
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{FileAlreadyExistsException, Files, Path}
import scala.jdk.CollectionConverters.*

/** A file that is for its owner's eyes only, such as a key. */
object PrivateFile:
  private val OwnersOnly = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))

  /** As ssh has it: what others may read proves nothing. A file of somebody else's, as those that Kubernetes
    * mounts, may be there for this process's group.
    */
  def isPrivate(file: Path): Boolean =
    val permissions = Files.getPosixFilePermissions(file).asScala.toSet
    val own = Files.getAttribute(file, "unix:uid") == Files.getAttribute(Path.of("/proc/self"), "unix:uid")
    val wrong = Set(OTHERS_READ, OTHERS_WRITE) ++ (if own then Set(GROUP_READ, GROUP_WRITE) else Set.empty)
    !permissions.exists(wrong)

  /** Appears whole or not at all; says whether it was not there yet. */
  def create(file: Path, text: String): Boolean =
    val fresh =
      Files.createTempFile(file.toAbsolutePath.getParent, file.getFileName.toString, ".new", OwnersOnly)
    try
      Files.writeString(fresh, text)
      Files.createLink(file, fresh)
      true
    catch case _: FileAlreadyExistsException => false
    finally Files.delete(fresh)
