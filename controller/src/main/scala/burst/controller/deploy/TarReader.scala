package burst.controller.deploy

import burst.controller.limits.PackageLimits
import java.io.{EOFException, InputStream}
import java.util.zip.ZipException
import scala.annotation.tailrec
import scala.util.Using
import scala.util.control.NoStackTrace

/** Reads a gzipped tar as written by GNU's, BSD's and npm's programs, and trusts nothing in it: declared
  * sizes are used only as far as data arrives, and never beyond the limits.
  */
private[deploy] final class TarReader(bytes: Array[Byte], limits: PackageLimits):
  import PackageProblem.*
  import TarHeader.BlockSize
  import TarReader.*

  /** Passes each file and directory to `take`, in order: its path, with a trailing slash for a directory, and
    * its contents, which `take` may leave unread.
    */
  def each(take: (String, InputStream) => Unit): Either[PackageProblem, Unit] =
    try Right(Using.resource(GzipStream(bytes))(Walk(_, take).go(TarExtension.Empty)))
    catch
      case refused: Refused => Left(refused.problem)
      case _: EOFException => Left(CorruptTar(TarDamage.CutOff))
      case _: ZipException => Left(CorruptTar(TarDamage.CannotUnpack))

  private final class Walk(in: InputStream, take: (String, InputStream) => Unit):
    private var entries = 0
    private var unpacked = 0L
    private var beside = 0L

    /** The paths seen so far, without a directory's slash, and whether each is a directory. A Java map, as
      * names crafted to share one hash make Scala's quadratic.
      */
    private val seen = java.util.HashMap[String, Boolean]

    /** Reads the entries from here on. `said` are the attributes that earlier headers gave the next entry. */
    @tailrec
    def go(said: TarExtension): Unit =
      val block = whole(BlockSize)
      if block.forall(_ == 0) then end()
      else
        val header = TarHeader.read(block).getOrElse(damaged(TarDamage.DamagedHeader))
        header.kind match
          case 'L' =>
            val name = saidIn(header)
            go(said.copy(path = Some(TarHeader.text(name, 0, name.length))))
          case 'x' =>
            go(TarExtension.records(saidIn(header), said).getOrElse(damaged(TarDamage.DamagedHeader)))
          // Attributes of all entries, such as comments by npm or git; nobody gives all of them the same
          // path.
          case 'g' =>
            saidIn(header)
            go(said)
          case _ =>
            entry(said.of(header), said.isSparse)
            go(TarExtension.Empty)

    private def entry(header: TarHeader, isSparse: Boolean): Unit =
      entries += 1
      if entries > limits.entries then throw Refused(TooManyEntries(limits.entries))
      val isDirectory = header.kind == '5' || (Files(header.kind) && header.path.endsWith("/"))
      val isTool = Links(header.kind) && s"/${header.path}".contains(NpmTools)
      if isSparse || !(isDirectory || isTool || Files(header.kind)) then throw Refused(NotAFile(header.path))
      if isDirectory && header.size != 0 then damaged(TarDamage.DirectoryWithContent)
      charge(header.size)
      val content = Content(header.size)
      // The prefix of every path if the current directory was packed.
      val path = header.path.stripPrefix("./").stripSuffix("/")
      if !(isTool || (isDirectory && Top(header.path))) then
        val named = if isDirectory then s"$path/" else path
        PackagePath.check(named).left.foreach(problem => throw Refused(problem))
        Option(seen.put(path, isDirectory)) match
          case None => take(named, content)
          // A directory may be repeated.
          case Some(true) if isDirectory => ()
          case _ => damaged(TarDamage.PathTwice)
      content.finish()

    /** Reads the content of an extension header; a long one cannot be a name. */
    private def saidIn(header: TarHeader): Array[Byte] =
      if header.size > ExtensionLimit then damaged(TarDamage.LongHeader(ExtensionLimit))
      chargeBeside(BlockSize + header.size)
      val content = whole(header.size.toInt)
      pad(header.size)
      content

    private def charge(size: Long): Unit =
      // Both are positive, but their sum may overflow.
      val total = if size > Long.MaxValue - unpacked then Long.MaxValue else unpacked + size
      if total > limits.unpackedBytes then throw Refused(UnpacksTooLarge(total, limits.unpackedBytes))
      unpacked = total

    /** Bounds the bytes that are not entries, of which there may be any number. */
    private def chargeBeside(size: Long): Unit =
      beside += size
      if beside > (limits.entries + 16L) * MeanBeside then damaged(TarDamage.MostlyHeaders)

    /** Reads exactly that many bytes, into an array that grows only as they arrive. */
    private def whole(size: Int): Array[Byte] =
      val read = in.readNBytes(size)
      if read.length < size then throw EOFException()
      read

    private def pad(size: Long): Unit =
      val _ = whole(((BlockSize - size % BlockSize) % BlockSize).toInt)

    /** Requires zeros up to the end, where the integrity of the whole stream is verified. */
    private def end(): Unit =
      val piece = new Array[Byte](PieceSize)
      Iterator
        .continually(in.read(piece))
        .takeWhile(_ >= 0)
        .foreach: n =>
          chargeBeside(n)
          if (0 until n).exists(piece(_) != 0) then damaged(TarDamage.AfterItsEnd)

    private final class Content(size: Long) extends InputStream:
      private var left = size

      override def read(): Int =
        val one = new Array[Byte](1)
        if read(one, 0, 1) < 0 then -1 else one(0) & 0xff

      override def read(into: Array[Byte], offset: Int, most: Int): Int =
        if left == 0 then -1
        else
          val n = in.read(into, offset, left.min(most).toInt)
          if n < 0 then throw EOFException()
          left -= n
          n

      /** Skips to the next header. */
      def finish(): Unit =
        val piece = new Array[Byte](left.min(PieceSize).toInt)
        while left > 0 do read(piece, 0, piece.length)
        pad(size)

private[deploy] object TarReader:
  /** The most bytes of a long name, or of other attributes of an entry outside its header. */
  val ExtensionLimit: Int = 64 * 1024

  /** The mean bytes per entry that are not its content; the longest name takes half of that. */
  private val MeanBeside = 4096
  private val PieceSize = 64 * 1024

  /** The flags of files: today's form, the oldest, and one for contiguous files. */
  private val Files = Set('0', '\u0000', '7')
  private val Top = Set(".", "./")

  /** The flags of hard and symbolic links. */
  private val Links = Set('1', '2')

  /** The directory in which npm links to its packages' command-line tools, which no function loads. */
  private val NpmTools = "/node_modules/.bin/"

  private final class Refused(val problem: PackageProblem) extends RuntimeException with NoStackTrace

  private def damaged(damage: TarDamage): Nothing = throw Refused(PackageProblem.CorruptTar(damage))
