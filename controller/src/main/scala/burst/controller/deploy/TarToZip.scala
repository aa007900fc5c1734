package burst.controller.deploy

import burst.controller.definition.KindFamily
import burst.controller.limits.PackageLimits
import java.io.{ByteArrayOutputStream, IOException, OutputStream}
import java.time.LocalDateTime
import java.util.zip.{Deflater, ZipEntry, ZipOutputStream}
import scala.util.control.NoStackTrace

/** Makes a zip of a gzipped tar, so that whoever reads packages has one form to read. The same tar gives the
  * same zip, as packages are known by their content.
  *
  * What `npm pack` makes has all below one directory, which is taken off: the package is what is in it. Modes
  * and times are not kept, as they are not of a zip either.
  */
final class TarToZip(limits: PackageLimits):
  import TarToZip.*

  /** @param most
    *   bytes that the zip may have: what a tar saves by packing files that are alike in one piece is lost
    * @param room
    *   whether there is memory for a zip of so many bytes; asked before it grows
    */
  def apply(
      tar: Array[Byte],
      most: Long,
      room: Long => Boolean
  ): Either[PackageProblem | NoRoom.type, Array[Byte]] =
    val reader = TarReader(tar, limits)
    val paths = Vector.newBuilder[String]
    for
      // What of it is taken off is known only once all of it was seen.
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
  /** As OpenWhisk's runtimes do: only that of Node takes such a file. */
  def takes(bytes: Array[Byte], family: KindFamily): Boolean =
    family == KindFamily.Nodejs && GzipStream.isGzip(bytes)

  /** There is none at present for a zip that has become larger than what was sent. */
  object NoRoom

  private val NpmTop = "package/"

  /** As early as can be said in a zip itself. For the month before a remark is added, by the clock's zone. */
  private val NoTime = LocalDateTime.of(1980, 2, 1, 0, 0)

  /** What macOS's tar has beside files that have more to them than other systems know. */
  private def isNote(path: String): Boolean = path.drop(path.lastIndexOf('/') + 1).startsWith("._")

  private final class Full(val why: PackageProblem | NoRoom.type) extends IOException with NoStackTrace

  private final class Zip(sink: OutputStream) extends ZipOutputStream(sink):
    // What is made to take long compresses at a tenth of the usual speed, and at nearly all of this one's.
    setLevel(Deflater.BEST_SPEED)

    /** Gives back what is not the heap's. */
    def release(): Unit = `def`.end()

  /** Holds the zip, and asks for room in few steps, each twice as large as the one before. */
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
