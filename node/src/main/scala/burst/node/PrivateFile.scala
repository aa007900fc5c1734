package burst.node

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.StandardOpenOption.{READ, WRITE}
import java.nio.file.attribute.PosixFilePermission.{GROUP_READ, GROUP_WRITE, OTHERS_READ, OTHERS_WRITE}
import java.nio.file.attribute.{BasicFileAttributes, PosixFilePermissions}
import java.nio.file.{
  AccessDeniedException,
  FileAlreadyExistsException,
  FileSystemException,
  Files,
  NoSuchFileException,
  Path
}
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** Files and directories that are for their owner's eyes only, such as a key. Where a file cannot be used,
  * `SetupException` says so, with `what` for what it is.
  */
object PrivateFile:
  private val OwnersOnly = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
  private val OwnerEnters = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))

  /** Nobody's key has more. */
  private val Longest = 64 * 1024

  /** Its text, or the beginning of it, if there is the file. `why` it must be private ends a refusal. */
  def read(file: Path, what: String, why: String = ""): Option[String] =
    usable(what, file, "read"):
      attributes(file) match
        case None if Files.isSymbolicLink(file) =>
          throw SetupException(s"$what, $file, is a link to a file that is not there.")
        case None => None
        // To read from anything else may take for ever.
        case Some(found) if !found.isRegularFile => throw SetupException(s"$what, $file, is no regular file.")
        case Some(_) if !isPrivate(file) =>
          throw SetupException(s"$what, $file, can be read or written by other users: chmod 600 it$why.")
        case Some(_) =>
          Some(Using.resource(Files.newInputStream(file))(in => String(in.readNBytes(Longest), UTF_8)))

  /** Makes a directory where there is none. One that is there stays as open as it is. */
  def directory(path: Path): Path =
    if Files.isDirectory(path) then path else Files.createDirectories(path, OwnerEnters)

  /** Makes it, and the directory around it. It appears whole or not at all, and survives a failure of power;
    * says whether it was not there yet.
    */
  def create(file: Path, text: String, what: String): Boolean = usable(what, file, "made"):
    val around = directory(file.toAbsolutePath.getParent)
    val fresh = Files.createTempFile(around, file.getFileName.toString, ".new", OwnersOnly)
    try
      Using.resource(FileChannel.open(fresh, WRITE)): channel =>
        val bytes = ByteBuffer.wrap(text.getBytes(UTF_8))
        while bytes.hasRemaining do channel.write(bytes)
        channel.force(true)
      Files.createLink(file, fresh)
      true
    catch case _: FileAlreadyExistsException => false
    finally
      Files.delete(fresh)
      flush(around)

  /** Nothing where there is no such file; what cannot be looked at is not taken for one that is not there. */
  private def attributes(file: Path): Option[BasicFileAttributes] =
    try Some(Files.readAttributes(file, classOf[BasicFileAttributes]))
    catch case _: NoSuchFileException => None

  /** As ssh has it: what others may read proves nothing. A file of somebody else's, as those that Kubernetes
    * mounts, may be there for this process's group.
    */
  private def isPrivate(file: Path): Boolean =
    val permissions = Files.getPosixFilePermissions(file).asScala.toSet
    val own = Files.getAttribute(file, "unix:uid") == Files.getAttribute(Path.of("/proc/self"), "unix:uid")
    val wrong = Set(OTHERS_READ, OTHERS_WRITE) ++ (if own then Set(GROUP_READ, GROUP_WRITE) else Set.empty)
    !permissions.exists(wrong)

  /** Names are durable once the directory is; where one cannot be flushed the file system does it. */
  private def flush(directory: Path): Unit =
    try Using.resource(FileChannel.open(directory, READ))(_.force(true))
    catch case _: IOException => ()

  private def usable[A](what: String, file: Path, done: String)(work: => A): A =
    try work
    catch
      case problem: IOException =>
        throw SetupException(s"$what, $file, cannot be $done: ${reason(problem, file)}.", problem)

  private def reason(problem: IOException, file: Path): String = problem match
    case denied: AccessDeniedException =>
      s"this user may not access ${Option(denied.getFile).getOrElse(file)}"
    case other: FileSystemException if other.getReason != null => other.getReason
    case other => Option(other.getMessage).getOrElse(other.getClass.getSimpleName)
