package burst.controller.deploy

import burst.controller.limits.PackageLimits
import java.io.{EOFException, InputStream}
import java.util.zip.ZipException
import scala.annotation.tailrec
import scala.util.Using
import scala.util.control.NoStackTrace

/** Reads a gzipped tar as GNU's, BSD's and npm's programs write it, and trusts nothing in it: what it
  * declares is believed only as far as it comes, and no further than to the limits.
  */
private[deploy] final class TarReader(bytes: Array[Byte], limits: PackageLimits):
  import PackageProblem.*
  import TarHeader.BlockSize
  import TarReader.*

  /** Gives each file and directory to `take`, in their order: its path, a directory's with a slash at its
    * end, and its contents, of which `take` may leave what it does not want.
    */
  def each(take: (String, InputStream) => Unit): Either[PackageProblem, Unit] =
    try Right(Using.resource(GzipStream(bytes))(Walk(_, take).go(TarExtension.Empty)))
    catch
      case refused: Refused => Left(refused.problem)
      case _: EOFException => Left(CorruptTar("it is cut off"))
      case _: ZipException => Left(CorruptTar("it cannot be unpacked"))

  private final class Walk(in: InputStream, take: (String, InputStream) => Unit):
    private var entries = 0
    private var unpacked = 0L
    private var beside = 0L

    /** Paths that were there, without a directory's slash, and whether each is a directory. Java's map, as
      * names that are made to have one hash take Scala's the square of their number.
      */
    private val seen = java.util.HashMap[String, Boolean]

    /** `said` is what the headers before say of the next entry. */
    @tailrec
    def go(said: TarExtension): Unit =
      val block = whole(BlockSize)
      if block.forall(_ == 0) then end()
      else
        val header = TarHeader.read(block).getOrElse(damaged("a header in it is damaged"))
        header.kind match
          case 'L' =>
            val name = saidIn(header)
            go(said.copy(path = Some(TarHeader.text(name, 0, name.length))))
          case 'x' =>
            go(TarExtension.records(saidIn(header), said).getOrElse(damaged("a header in it is damaged")))
          // For all entries, such as npm's or git's remarks; nobody gives all the same path.
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
      if isDirectory && header.size != 0 then damaged("a directory in it has content")
      charge(header.size)
      val content = Content(header.size)
      // As everything is called by who packs the directory that he is in.
      val path = header.path.stripPrefix("./").stripSuffix("/")
      if !(isTool || (isDirectory && Top(header.path))) then
        val named = if isDirectory then s"$path/" else path
        PackagePath.check(named).left.foreach(problem => throw Refused(problem))
        Option(seen.put(path, isDirectory)) match
          case None => take(named, content)
          // It says the same once more.
          case Some(true) if isDirectory => ()
          case _ => damaged("a path occurs in it twice")
      content.finish()

    /** What is long is no name. */
    private def saidIn(header: TarHeader): Array[Byte] =
      if header.size > ExtensionLimit then damaged(s"a header in it has more than $ExtensionLimit bytes")
      chargeBeside(BlockSize + header.size)
      val content = whole(header.size.toInt)
      pad(header.size)
      content

    private def charge(size: Long): Unit =
      // Both are positive, and their sum may be more than there are numbers.
      val total = if size > Long.MaxValue - unpacked then Long.MaxValue else unpacked + size
      if total > limits.unpackedBytes then throw Refused(UnpacksTooLarge(total, limits.unpackedBytes))
      unpacked = total

    /** There may be any number of what is no entry. */
    private def chargeBeside(size: Long): Unit =
      beside += size
      if beside > (limits.entries + 16L) * MeanBeside then damaged("it is mostly headers and padding")

    /** So many bytes, of which there is an array only as they come. */
    private def whole(size: Int): Array[Byte] =
      val read = in.readNBytes(size)
      if read.length < size then throw EOFException()
      read

    private def pad(size: Long): Unit =
      val _ = whole(((BlockSize - size % BlockSize) % BlockSize).toInt)

    /** Nothing but zeros up to the end, at which it is proven that all came. */
    private def end(): Unit =
      val piece = new Array[Byte](PieceSize)
      Iterator
        .continually(in.read(piece))
        .takeWhile(_ >= 0)
        .foreach: n =>
          chargeBeside(n)
          if (0 until n).exists(piece(_) != 0) then damaged("something follows its end")

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

      /** Goes to the next header. */
      def finish(): Unit =
        val piece = new Array[Byte](left.min(PieceSize).toInt)
        while left > 0 do read(piece, 0, piece.length)
        pad(size)

private[deploy] object TarReader:
  /** A long name, or what else is said of an entry beside its header. */
  val ExtensionLimit: Int = 64 * 1024

  /** The longest name takes half of that. */
  private val MeanBeside = 4096
  private val PieceSize = 64 * 1024

  /** In today's form, the oldest, and one for disks that want files in one piece. */
  private val Files = Set('0', '\u0000', '7')
  private val Top = Set(".", "./")

  /** Hard and symbolic. */
  private val Links = Set('1', '2')

  /** Where npm has links to what its packages bring for the command line, which no function loads. */
  private val NpmTools = "/node_modules/.bin/"

  private final class Refused(val problem: PackageProblem) extends RuntimeException with NoStackTrace

  private def damaged(reason: String): Nothing = throw Refused(PackageProblem.CorruptTar(reason))
