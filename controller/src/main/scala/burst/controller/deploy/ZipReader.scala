package burst.controller.deploy

import burst.controller.limits.PackageLimits
import java.util.zip.{CRC32, DataFormatException, Inflater}

/** Reads a zip as the unpacking program will, and trusts nothing in it: both descriptions of each entry must
  * agree, every entry is unpacked once (and dropped, except for the wanted one), and it may not grow beyond
  * the size it declares.
  */
private[deploy] final class ZipReader(bytes: Array[Byte], limits: PackageLimits):
  import PackageProblem.*
  import ZipReader.*

  private val view = ByteView(bytes)

  /** Returns the bytes of the entry called `name`, after all entries have been checked. */
  def check(name: String): Either[PackageProblem, Array[Byte]] =
    for
      entries <- entries()
      wanted <- entries.find(_.path == name).toRight(NoExec)
      most = limits.executableBytes
      _ <- Either.cond(wanted.size <= most, (), ExecutableTooLarge(wanted.size, most))
      _ <- first(entries.filterNot(_ eq wanted))(unpack(_, (_, _) => ()))
      content = new Array[Byte](wanted.size.toInt)
      into = Collector(content)
      _ <- unpack(wanted, into.take)
    yield content

  /** Returns the paths of all entries, after they have been checked. */
  def paths(): Either[PackageProblem, Vector[String]] =
    for
      entries <- entries()
      _ <- first(entries)(unpack(_, (_, _) => ()))
    yield entries.map(_.path)

  private def entries(): Either[PackageProblem, Vector[Entry]] =
    for
      entries <- directory()
      _ <- first(entries)(checkPath)
      _ <- Either.cond(fits(entries), (), TooManyEntries(limits.entries))
      total = entries.iterator.map(_.size).sum
      _ <- Either.cond(total <= limits.unpackedBytes, (), UnpacksTooLarge(total, limits.unpackedBytes))
      _ <- Either.cond(distinct(entries), (), CorruptZip(ZipDamage.PathTwice))
    yield entries

  private def directory(): Either[PackageProblem, Vector[Entry]] =
    endRecord() match
      case None => Left(CorruptZip(ZipDamage.NoDirectory))
      case Some(at) =>
        (view.u16(at + 10), view.u32(at + 12), view.u32(at + 16)) match
          case (Some(count), Some(size), Some(start)) =>
            if count > limits.entries then Left(TooManyEntries(limits.entries))
            // Other programs use the directory that ends here, wherever it is declared to start.
            else if start + size != at then Left(CorruptZip(ZipDamage.DirectoryCutOff))
            else entries(start = start, end = at, count = count)
          case _ => Left(CorruptZip(ZipDamage.DirectoryCutOff))

  /** Returns the offset of the last end record, which is at the very end except for a comment of its own
    * declared length. Other programs may use one that lies within another's comment.
    */
  private def endRecord(): Option[Long] =
    val last = view.length - EndSize
    Iterator
      .iterate(last)(_ - 1)
      .takeWhile(at => at >= 0 && at >= last - 0xffff)
      .find(view.u32(_).contains(EndMagic))
      .filter(at => view.u16(at + 20).contains((last - at).toInt))

  private def entries(start: Long, end: Long, count: Int): Either[PackageProblem, Vector[Entry]] =
    Vector
      .range(0, count)
      .foldLeft[Either[PackageProblem, (Vector[Entry], Long)]](Right((Vector.empty, start))):
        case (Right((read, at)), _) =>
          entry(at).filter((_, next) => next <= end) match
            case Some((entry, next)) => Right((read :+ entry, next))
            case None => Left(CorruptZip(ZipDamage.UnreadableDirectory))
        case (problem, _) => problem
      .flatMap: (read, at) =>
        Either.cond(at == end, read, CorruptZip(ZipDamage.UncountedEntries))

  private def entry(at: Long): Option[(Entry, Long)] =
    for
      magic <- view.u32(at)
      if magic == EntryMagic
      flags <- view.u16(at + 8)
      method <- view.u16(at + 10)
      crc <- view.u32(at + 16)
      packed <- view.u32(at + 20)
      size <- view.u32(at + 24)
      nameLength <- view.u16(at + 28)
      extraLength <- view.u16(at + 30)
      commentLength <- view.u16(at + 32)
      attributes <- view.u32(at + 38)
      local <- view.u32(at + 42)
      path <- view.utf8(at + EntrySize, nameLength)
    yield (
      Entry(
        path,
        flags = flags,
        method = method,
        crc = crc,
        packed = packed,
        size = size,
        mode = (attributes >> 16).toInt,
        local = local
      ),
      at + EntrySize + nameLength + extraLength + commentLength
    )

  private def checkPath(entry: Entry): Either[PackageProblem, Unit] =
    val kind = entry.mode & 0xf000
    val safe = PackagePath.check(entry.path)
    if safe.isLeft then safe
    else if kind != 0 && kind != (if entry.isDirectory then DirectoryMode else FileMode) then
      Left(NotAFile(entry.path))
    else if entry.isDirectory && entry.size != 0 then Left(CorruptZip(ZipDamage.DirectoryWithContent))
    else Right(())

  /** Whether all paths differ. Uses Java's set, as names crafted to share one hash make Scala's quadratic. */
  private def distinct(entries: Vector[Entry]): Boolean =
    val seen = java.util.HashSet[String]
    entries.forall(entry => seen.add(entry.path))

  /** Whether there are no more files and directories than allowed. Directories without an entry of their own,
    * which a path passes through, count as well, as unpacking creates them: each path may have hundreds.
    * Counts only up to the limit.
    */
  private def fits(entries: Vector[Entry]): Boolean =
    val made = java.util.HashSet[String]
    entries.iterator
      .flatMap(entry =>
        Iterator.iterate(entry.path.stripSuffix("/"))(above).takeWhile(it => it.nonEmpty && made.add(it))
      )
      .drop(limits.entries)
      .isEmpty

  /** Unpacks an entry piece by piece, and verifies its size and checksum. */
  private def unpack(entry: Entry, sink: (Array[Byte], Int) => Unit): Either[PackageProblem, Unit] =
    val broken = CorruptZip(ZipDamage.CannotUnpack(entry.path))
    if (entry.flags & Encrypted) != 0 then Left(CorruptZip(ZipDamage.Encrypted(entry.path)))
    else if !Set(Stored, Deflated).contains(entry.method) then
      Left(CorruptZip(ZipDamage.OtherMethod(entry.path)))
    else
      val content =
        for
          magic <- view.u32(entry.local)
          if magic == LocalMagic
          method <- view.u16(entry.local + 8)
          nameLength <- view.u16(entry.local + 26)
          extraLength <- view.u16(entry.local + 28)
          path <- view.utf8(entry.local + LocalSize, nameLength)
          if path == entry.path && method == entry.method
          start = entry.local + LocalSize + nameLength + extraLength
          if view.has(start, entry.packed)
        yield start
      content
        .toRight(broken)
        .flatMap: start =>
          val crc = CRC32()
          val counted: (Array[Byte], Int) => Unit = (piece, n) =>
            crc.update(piece, 0, n)
            sink(piece, n)
          val sound =
            if entry.method == Stored then copy(start, entry, counted) else inflate(start, entry, counted)
          Either.cond(sound && crc.getValue == entry.crc, (), broken)

  private def copy(start: Long, entry: Entry, sink: (Array[Byte], Int) => Unit): Boolean =
    val sound = entry.packed == entry.size && view.has(start, entry.size)
    if sound then
      val end = start + entry.size
      Iterator.iterate(start)(_ + PieceSize).takeWhile(_ < end).foreach: at =>
        view.slice(at, (end - at).min(PieceSize)).foreach(piece => sink(piece, piece.length))
    sound

  private def inflate(start: Long, entry: Entry, sink: (Array[Byte], Int) => Unit): Boolean =
    val inflater = Inflater(true)
    try
      inflater.setInput(bytes, start.toInt, entry.packed.toInt)
      val piece = new Array[Byte](PieceSize)
      var written = 0L
      var n = 1
      // No progress means that input is missing or a preset dictionary is needed: both are damage.
      while !inflater.finished && n > 0 && written <= entry.size do
        n = inflater.inflate(piece)
        written += n
        if written <= entry.size then sink(piece, n)
      inflater.finished && written == entry.size
    catch case _: DataFormatException => false
    finally inflater.end()

private object ZipReader:
  final case class Entry(
      path: String,
      flags: Int,
      method: Int,
      crc: Long,
      packed: Long,
      size: Long,
      mode: Int,
      local: Long
  ):
    def isDirectory: Boolean = path.endsWith("/")

  final class Collector(content: Array[Byte]):
    private var filled = 0
    def take(piece: Array[Byte], n: Int): Unit =
      System.arraycopy(piece, 0, content, filled, n)
      filled += n

  val PieceSize: Int = 64 * 1024
  val EndMagic = 0x06054b50L
  val EndSize = 22
  val EntryMagic = 0x02014b50L
  val EntrySize = 46
  val LocalMagic = 0x04034b50L
  val LocalSize = 30
  val Stored = 0
  val Deflated = 8
  val Encrypted = 1
  val DirectoryMode = 0x4000
  val FileMode = 0x8000

  /** Returns the directory that contains a path; empty at the top. */
  def above(path: String): String = path.take(path.lastIndexOf('/').max(0))

  def first(entries: Vector[Entry])(
      check: Entry => Either[PackageProblem, Unit]
  ): Either[PackageProblem, Unit] =
    entries.iterator.map(check).find(_.isLeft).getOrElse(Right(()))
