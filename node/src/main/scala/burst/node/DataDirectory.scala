package burst.node

import java.io.IOException
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.StandardOpenOption.{CREATE, READ, WRITE}
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{AccessDeniedException, Files, NoSuchFileException, Path, StandardCopyOption}
import java.util.Comparator
import scala.util.Using

/** The platform's directory while this process holds it. The kernel holds the lock: however the process ends,
  * the next one can take it.
  */
final class DataDirectory private (val path: Path, lock: FileChannel):
  private val properties = path.resolve("properties")

  def logs: Path = path.resolve("logs")

  /** The JVM's temporary files, deleted at the next start. */
  def temporary: Path = path.resolve("tmp")

  /** A property that an earlier start wrote for the `burst` command. */
  def property(name: String): Option[String] =
    try
      val lines = Files.readString(properties).linesIterator.map(_.split("=", 2))
      lines.collectFirst { case Array(key, value) if key.trim == name => value.trim }
    catch case _: NoSuchFileException => None

  /** Writes what the `burst` command needs, readable by the owner only; the file appears whole or not at all.
    */
  def writeProperties(values: Vector[(String, String)]): Unit =
    val fresh = path.resolve("properties.new")
    Files.deleteIfExists(fresh)
    Files.createFile(
      fresh,
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
    )
    Files.writeString(fresh, values.map((key, value) => s"$key=$value\n").mkString)
    val _ = Files.move(fresh, properties, StandardCopyOption.ATOMIC_MOVE)

  def close(): Unit = DataDirectory.release(this)(lock.close())

object DataDirectory:
  /** The directories that this process holds, by their real paths. They are referenced here until they are
    * closed: a lock whose channel is unreachable is lost at the next garbage collection.
    */
  private var held = Map.empty[Path, DataDirectory]

  /** Creates the directory if it does not exist, and locks it. Throws `SetupException` if another platform
    * holds it.
    */
  def open(path: Path): DataDirectory = synchronized:
    try
      PrivateFile.directory(path)
      val real = path.toRealPath()
      // The file must not even be opened a second time: a process that closes the file loses the lock, no
      // matter by which descriptor.
      if held.contains(real) then throw used(path, ProcessHandle.current.pid.toString)
      val file = path.resolve("lock")
      val channel = FileChannel.open(file, CREATE, READ, WRITE)
      if Option(channel.tryLock()).isEmpty then
        channel.close()
        throw used(path, Files.readString(file).trim)
      channel.truncate(0)
      channel.write(ByteBuffer.wrap(s"${ProcessHandle.current.pid}\n".getBytes(UTF_8)))
      val directory = DataDirectory(path, channel)
      held = held.updated(real, directory)
      delete(directory.temporary)
      // The directory itself may have been created by others, and be readable to them.
      PrivateFile.directory(directory.temporary)
      PrivateFile.directory(directory.logs)
      directory
    catch
      case problem: IOException =>
        throw SetupException(
          s"$path cannot be used (${explain(problem)}): give another with --data.",
          problem
        )

  private def release(directory: DataDirectory)(unlock: => Unit): Unit = synchronized:
    held = held.filterNot((_, other) => other eq directory)
    unlock

  private def used(path: Path, owner: String): SetupException = SetupException(
    s"$path is used by another platform (process $owner): stop that one, or give this one another " +
      "directory with --data."
  )

  private def explain(problem: IOException): String = problem match
    case denied: AccessDeniedException => s"this user may not open ${denied.getFile}"
    case other => other.getMessage

  private def delete(directory: Path): Unit = if Files.exists(directory) then
    Using.resource(Files.walk(directory))(_.sorted(Comparator.reverseOrder).forEach(Files.delete))

  /** A URL that reaches an address from this machine. */
  def url(scheme: String, address: InetSocketAddress): String =
    val host =
      if address.getAddress.isAnyLocalAddress then "127.0.0.1"
      else
        address.getAddress match
          case v6: java.net.Inet6Address => s"[${v6.getHostAddress.takeWhile(_ != '%')}]"
          case v4 => v4.getHostAddress
    s"$scheme://$host:${address.getPort}"
