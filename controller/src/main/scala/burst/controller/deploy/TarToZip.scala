package burst.controller.deploy

import burst.controller.definition.KindFamily
import burst.controller.limits.PackageLimits
import java.io.{ByteArrayOutputStream, IOException, OutputStream}
import java.time.LocalDateTime
import java.util.zip.{Deflater, ZipEntry, ZipOutputStream}
import scala.util.control.NoStackTrace

/** Converts a gzipped tar to a zip, so that all code that reads packages handles one format. The same tar
  * gives the same zip, as packages are identified by their content.
  *
  * What `npm pack` makes has everything below one directory, which is stripped: the package is what is in it.
  * Modes and times are dropped, as they are from a zip, too.
  */
final class TarToZip(limits: PackageLimits):
  import TarToZip.*

  /** @param most
    *   the most bytes that the zip may have: a tar's savings from compressing similar files together are lost
    * @param room
    *   whether there is memory for a zip of that many bytes; asked before it grows
    */
  def apply(
      tar: Array[Byte],
      most: Long,
      room: Long => Boolean
  ): Either[PackageProblem | NoRoom.type, Array[Byte]] =
    val reader = TarReader(tar, limits)
    val paths = Vector.newBuilder[String]
    for
      // The prefix to strip is known only once all paths were seen.
      _ <- reader.each((path, _) => paths += path)
      all = paths.result().filterNot(isNote)
      top = if all.forall(_.startsWith(NpmTop)) then NpmTop else ""
      zip <- write(reader, top, Sink(tar.length, most, room))
    yield zip

  private def write(
      reader: TarReader,
      top: String,
      sink: Sink
  ): Either[PackageProblem | NoRoom.type, Array[Byte]] =
    val zip = Zip(sink)
    try
      reader
        .each: (path, content) =>
          val name = path.stripPrefix(top)
          if name.nonEmpty && !isNote(path) then
            zip.putNextEntry(entry(name))
            content.transferTo(zip)
            zip.closeEntry()
        .map: _ =>
          zip.finish()
          sink.toByteArray
    catch case full: Full => Left(full.why)
    finally zip.release()

  private def entry(name: String): ZipEntry =
    val entry = ZipEntry(name)
    entry.setTimeLocal(NoTime)
    entry

object TarToZip:
  /** Whether the kind accepts such a file; as with OpenWhisk's runtimes, only Node does. */
  def takes(bytes: Array[Byte], family: KindFamily): Boolean =
    family == KindFamily.Nodejs && GzipStream.isGzip(bytes)

  /** There is currently no memory for a zip that has become larger than what was sent. */
  object NoRoom

  private val NpmTop = "package/"

  /** About the earliest time that a zip can store. Java adds an extra field to the month before, depending on
    * the clock's zone.
    */
  private val NoTime = LocalDateTime.of(1980, 2, 1, 0, 0)

  /** Whether a file is one of those that macOS's tar adds for metadata that other systems lack. */
  private def isNote(path: String): Boolean = path.drop(path.lastIndexOf('/') + 1).startsWith("._")

  private final class Full(val why: PackageProblem | NoRoom.type) extends IOException with NoStackTrace

  private final class Zip(sink: OutputStream) extends ZipOutputStream(sink):
    // Data crafted to be slow compresses at a tenth of the usual speed at other levels, but at nearly full
    // speed at this one.
    setLevel(Deflater.BEST_SPEED)

    /** Releases memory outside the heap. */
    def release(): Unit = `def`.end()

  /** Holds the zip, and asks for room in few steps, each doubling the last. */
  private final class Sink(free: Int, most: Long, room: Long => Boolean) extends ByteArrayOutputStream(free):
    private var allowed = free.toLong.min(most)

    override def write(byte: Int): Unit =
      grow(1)
      super.write(byte)

    override def write(bytes: Array[Byte], offset: Int, size: Int): Unit =
      grow(size)
      super.write(bytes, offset, size)

    private def grow(more: Int): Unit =
      val wanted = count.toLong + more
      if wanted > most then throw Full(PackageProblem.RepacksTooLarge(most))
      if wanted > allowed then
        allowed = (wanted * 2).min(most)
        if !room(allowed) then throw Full(NoRoom)
