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

/** Files and directories that only their owner can read, such as a key. If a file cannot be used,
  * `SetupException` says so; `what` describes the file in its message.
  */
object PrivateFile:
  private val OwnerOnlyFile =
    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
  private val OwnerOnlyDirectory =
    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))

  /** No key is longer. */
  private val Longest = 64 * 1024

  /** Returns the file's text, or the beginning of it, if the file exists. `why` it must be private ends the
    * message of a refusal.
    */
  def read(file: Path, what: String, why: String = ""): Option[String] =
    usable(what, file, "read"):
      attributes(file) match
        case None if Files.isSymbolicLink(file) =>
          throw SetupException(s"$what, $file, is a link to a file that is not there.")
        case None => None
        // Reading from anything else could block forever.
        case Some(found) if !found.isRegularFile => throw SetupException(s"$what, $file, is no regular file.")
        case Some(_) if !isPrivate(file) =>
          throw SetupException(s"$what, $file, can be read or written by other users: chmod 600 it$why.")
        case Some(_) =>
          Some(Using.resource(Files.newInputStream(file))(in => String(in.readNBytes(Longest), UTF_8)))

  /** Creates a directory if it does not exist. The permissions of an existing one stay unchanged. */
  def directory(path: Path): Path =
    if Files.isDirectory(path) then path else Files.createDirectories(path, OwnerOnlyDirectory)

  /** Creates the file, and the directory around it. It appears whole or not at all, and survives a power
    * failure; returns whether it did not exist before.
    */
  def create(file: Path, text: String, what: String): Boolean = usable(what, file, "made"):
    val parent = directory(file.toAbsolutePath.getParent)
    val fresh = Files.createTempFile(parent, file.getFileName.toString, ".new", OwnerOnlyFile)
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
      flush(parent)

  /** Returns nothing if there is no such file; a file that cannot be examined does not count as missing. */
  private def attributes(file: Path): Option[BasicFileAttributes] =
    try Some(Files.readAttributes(file, classOf[BasicFileAttributes]))
    catch case _: NoSuchFileException => None

  /** The same rule as ssh's: a file that others can read proves nothing. A file of another owner, such as
    * those that Kubernetes mounts, may be readable by this process's group.
    */
  private def isPrivate(file: Path): Boolean =
    val permissions = Files.getPosixFilePermissions(file).asScala.toSet
    val own = Files.getAttribute(file, "unix:uid") == Files.getAttribute(Path.of("/proc/self"), "unix:uid")
    val wrong = Set(OTHERS_READ, OTHERS_WRITE) ++ (if own then Set(GROUP_READ, GROUP_WRITE) else Set.empty)
    !permissions.exists(wrong)

  /** Names are durable once the directory is flushed; where it cannot be, the file system takes care of that.
    */
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
