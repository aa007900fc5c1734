package burst.invoker.packages

import java.io.{EOFException, IOException, InputStream}
import java.nio.file.StandardOpenOption.{CREATE_NEW, WRITE}
import java.nio.file.attribute.{BasicFileAttributes, PosixFilePermissions}
import java.nio.file.{
  FileAlreadyExistsException,
  FileSystemException,
  FileVisitResult,
  Files,
  InvalidPathException,
  LinkOption,
  NoSuchFileException,
  NotDirectoryException,
  Path,
  SimpleFileVisitor
}
import java.util.zip.{ZipEntry, ZipException, ZipFile}
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** `entries` are files and directories. */
final case class UnpackLimits(bytes: Long, entries: Int)

/** Turns an uploaded package into a directory. A package is a zip, a bare executable, which becomes `exec`,
  * or a source file, which becomes `source`: whether it holds what its kind needs is checked by the runtime.
  * Nothing from outside is trusted: names must not leave the directory, and unpacking stops as soon as it
  * exceeds the limits, whatever the headers say.
  *
  * Everything unpacked is read-only and executable: a zip read here has no modes, and a package's tools may
  * have to be run as well.
  */
private[burst] object Unpacker:
  val Executable = "exec"
  private val SourceFile = "source"

  /** Linux cannot open longer paths. */
  private val LongestName = 4096

  private val ReadOnly = PosixFilePermissions.fromString("r-xr-xr-x")
  private val Owner = PosixFilePermissions.fromString("rwx------")
  private val ElfMagic = Vector[Byte](0x7f, 'E', 'L', 'F')
  private val ZipMagic = Vector[Byte]('P', 'K', 3, 4)

  private final class Refused(val problem: PackageProblem) extends IOException(problem.sentence)

  /** What a file or directory takes on disk besides its contents: a small one has a block of its own. */
  private[packages] val EntryBytes = 4096L

  /** Unpacks into the new directory `target` and returns how many bytes that took on the disk, or why it was
    * refused; then `target` may exist in part. Throws if not the package is at fault but this machine.
    */
  def unpack(archive: Path, target: Path, limits: UnpackLimits): Either[PackageProblem, Long] =
    try
      Files.createDirectories(target)
      val bytes = magic(archive) match
        case ElfMagic => bare(archive, target.resolve(Executable), limits)
        case ZipMagic => zip(archive, target, limits)
        case empty if empty.isEmpty => throw Refused(PackageProblem.Nothing)
        case _ => bare(archive, target.resolve(SourceFile), limits)
      Right(bytes + seal(target))
    catch
      case refused: Refused => Left(refused.problem)
      case problem if isOfPackage(problem) => Left(PackageProblem.DamagedZip)

  /** Creates the stand-in for the package of a definition that has none. */
  def nothing(target: Path): Long =
    Files.createDirectories(target)
    seal(target)

  /** Deletes a directory that `unpack` created, although its files are read-only, or worse: a program that
    * runs as a process here can revoke its own user's permissions on its package.
    */
  def delete(directory: Path): Unit = if Files.exists(directory, LinkOption.NOFOLLOW_LINKS) then
    val _ = Files.walkFileTree(directory, Deletion)

  private object Deletion extends SimpleFileVisitor[Path]:
    override def preVisitDirectory(path: Path, attributes: BasicFileAttributes): FileVisitResult =
      // Only then can its owner, unless root, delete its contents.
      Files.setPosixFilePermissions(path, Owner)
      FileVisitResult.CONTINUE
    override def visitFile(path: Path, attributes: BasicFileAttributes): FileVisitResult =
      Files.delete(path)
      FileVisitResult.CONTINUE
    override def visitFileFailed(path: Path, problem: IOException): FileVisitResult = problem match
      case _: NoSuchFileException => FileVisitResult.CONTINUE
      case _ if unreadable(path) =>
        Files.setPosixFilePermissions(path, Owner)
        delete(path)
        FileVisitResult.CONTINUE
      case _ => throw problem
    override def postVisitDirectory(path: Path, problem: IOException): FileVisitResult =
      if problem != null then throw problem
      Files.delete(path)
      FileVisitResult.CONTINUE
    private def unreadable(path: Path) =
      Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS) && !Files.isReadable(path)

  private def magic(archive: Path): Vector[Byte] =
    Using.resource(Files.newInputStream(archive))(_.readNBytes(4).toVector)

  private def bare(archive: Path, file: Path, limits: UnpackLimits): Long =
    Using.resource(Files.newInputStream(archive))(copy(_, file, limits.bytes))

  private def zip(archive: Path, target: Path, limits: UnpackLimits): Long =
    Using.resource(ZipFile(archive.toFile)): file =>
      val budget = UnpackBudget(limits.entries)
      if file.size > limits.entries then budget.refuse()
      file.entries.asScala.foldLeft(0L): (total, entry) =>
        val path = inside(target, entry)
        if entry.isDirectory then
          budget.directories(path)
          total
        else
          budget.directories(path.getParent)
          budget.take(1)
          total + Using.resource(file.getInputStream(entry))(copy(_, path, limits.bytes - total))

  /** How many more files and directories can be created. Directories that a zip does not name, but that lead
    * to its files, are created as well: each of its paths may have hundreds.
    */
  private final class UnpackBudget(entries: Int):
    private var remaining = entries

    def refuse() = throw Refused(PackageProblem.TooManyEntries(entries))

    def take(count: Int): Unit =
      if count > remaining then refuse()
      remaining -= count

    def directories(path: Path): Unit =
      val missing =
        Iterator.iterate(path)(_.getParent).takeWhile(!Files.isDirectory(_)).take(remaining + 1).toVector
      take(missing.size)
      missing.reverseIterator.foreach(Files.createDirectory(_))

  private def inside(target: Path, entry: ZipEntry): Path =
    val name = entry.getName
    def refuse = throw Refused(PackageProblem.LeavesPackage)
    // Checked before anything is done for each of its directories.
    if name.length > LongestName then throw Refused(PackageProblem.NameTooLong)
    val segments = name.stripSuffix("/").split("/", -1)
    if name.contains('\\') || segments.exists(segment => segment.isEmpty || segment == "." || segment == "..")
    then refuse
    else
      try target.resolve(name)
      catch case _: InvalidPathException => refuse

  private def copy(input: InputStream, path: Path, allowed: Long): Long =
    Using.resource(Files.newOutputStream(path, CREATE_NEW, WRITE)): output =>
      val buffer = new Array[Byte](1 << 16)
      Iterator
        .continually(input.read(buffer))
        .takeWhile(_ != -1)
        .foldLeft(0L): (total, read) =>
          if total + read > allowed then throw Refused(PackageProblem.UnpacksToTooMuch)
          output.write(buffer, 0, read)
          total + read

  /** Makes everything read-only, and returns what the entries themselves take. */
  private def seal(directory: Path): Long =
    Using.resource(Files.walk(directory)): paths =>
      paths.iterator.asScala.foldLeft(0L): (total, path) =>
        Files.setPosixFilePermissions(path, ReadOnly)
        total + EntryBytes

  /** Whether the package's bytes or file names would cause this on any machine. */
  private def isOfPackage(problem: Throwable): Boolean = problem match
    case _: (ZipException | EOFException | FileAlreadyExistsException | NotDirectoryException) => true
    case named: FileSystemException => Option(named.getReason).exists(_.contains("name too long"))
    case _ => false
