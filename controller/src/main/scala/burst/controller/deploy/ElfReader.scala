package burst.controller.deploy

/** What an executable requires of the machine it is to run on. `libc` is the newest version of the GNU C
  * library it requires, none if it is linked statically.
  */
final case class ElfNeeds(arch: String, loader: Option[String], libc: Option[LibcVersion])

/** Reads ELF executables (64 bit, little-endian) the way the loader does: by program headers and the dynamic
  * segment, since section headers may be stripped. The bytes are a stranger's: every offset is checked, every
  * chain is bounded.
  */
private[deploy] final class ElfReader(view: ByteView):
  import ElfReader.*
  import PackageProblem.{CorruptExecutable, NotAnExecutable}

  def needs(): Either[PackageProblem, ElfNeeds] =
    for
      _ <- Either.cond(view.u32(0).contains(Magic), (), NotAnExecutable)
      arch <- architecture()
      headers <- programHeaders()
      loader <- interpreter(headers)
      dynamic <- dynamicSegment(headers)
      libc <- requiredLibc(headers, dynamic)
    yield ElfNeeds(arch, loader, libc)

  private def architecture(): Either[PackageProblem, String] =
    (view.u8(4), view.u8(5), view.u16(16), view.u16(18)) match
      case (Some(klass), Some(order), Some(kind), Some(machine)) =>
        if kind != Executable && kind != PositionIndependent then Left(NotAnExecutable)
        else if klass != Bits64 || order != LittleEndian then
          Right(s"${if klass == Bits64 then 64 else 32}-bit machine $machine")
        else Right(Machines.getOrElse(machine, s"machine $machine"))
      case _ => Left(CorruptExecutable(ElfPart.Header))

  private def programHeaders(): Either[PackageProblem, Vector[Segment]] =
    // With another class or byte order the fields are elsewhere; such files are refused by their architecture
    // alone.
    if !view.u8(4).contains(Bits64) || !view.u8(5).contains(LittleEndian) then Right(Vector.empty)
    else
      val table =
        for
          offset <- view.u64(32)
          size <- view.u16(54)
          count <- view.u16(56)
          if size == SegmentHeaderSize && count > 0 && view.has(offset, size.toLong * count)
          segments <- all(Vector.range(0, count).map(i => segment(offset + i.toLong * size)))
        yield segments
      table.toRight(CorruptExecutable(ElfPart.ProgramHeaders))

  private def segment(at: Long): Option[Segment] =
    for
      kind <- view.u32(at)
      offset <- view.u64(at + 8)
      address <- view.u64(at + 16)
      size <- view.u64(at + 32)
    yield Segment(kind = kind, offset = offset, address = address, size = size)

  private def interpreter(segments: Vector[Segment]): Either[PackageProblem, Option[String]] =
    segments.find(_.kind == Interpreter) match
      case None => Right(None)
      case Some(s) =>
        view.cString(s.offset, 4096).toRight(CorruptExecutable(ElfPart.Interpreter)).map(Some(_))

  /** Returns the dynamic entries up to the terminating one; empty for a static executable. */
  private def dynamicSegment(segments: Vector[Segment]): Either[PackageProblem, Map[Long, Long]] =
    segments.find(_.kind == Dynamic) match
      case None => Right(Map.empty)
      case Some(s) if !view.has(s.offset, s.size) => Left(CorruptExecutable(ElfPart.DynamicSegment))
      case Some(s) =>
        val entries = Iterator
          .range(0, (s.size / 16).min(MaxEntries).toInt)
          .map(i => (view.u64(s.offset + i * 16L), view.u64(s.offset + i * 16L + 8)))
          .collect { case (Some(tag), Some(value)) => tag -> value }
          .takeWhile((tag, _) => tag != 0)
        Right(entries.toMap)

  private def requiredLibc(
      segments: Vector[Segment],
      dynamic: Map[Long, Long]
  ): Either[PackageProblem, Option[LibcVersion]] =
    (dynamic.get(VersionNeeds), dynamic.get(VersionNeedsCount), dynamic.get(StringTable)) match
      case (None, _, _) => Right(None)
      case (Some(needs), Some(count), Some(strings)) =>
        val names =
          for
            at <- fileOffset(segments, needs)
            strings <- fileOffset(segments, strings)
            names <- versionNames(first = at, files = count, strings = strings)
          yield names.flatMap(libcVersion).maxOption
        names.toRight(CorruptExecutable(ElfPart.LibraryVersions))
      case _ => Left(CorruptExecutable(ElfPart.DynamicSegment))

  /** Returns the names in the chain of Verneed records and their chains of Vernaux records. Both chains use
    * relative steps that can only lead forward, so they end; the number of records read is bounded all the
    * same, since overlapping chains could make it the square of the file's length.
    */
  private def versionNames(first: Long, files: Long, strings: Long): Option[Vector[String]] =
    val names = Vector.newBuilder[String]
    var budget = MaxEntries
    var sound = files >= 0 && files <= MaxEntries
    var file = first
    var filesLeft = files
    while sound && filesLeft > 0 do
      (view.u16(file + 2), view.u32(file + 8), view.u32(file + 12)) match
        case (Some(count), Some(toAux), Some(toNext)) =>
          var aux = file + toAux
          var left = count
          while sound && left > 0 do
            budget -= 1
            (view.u32(aux + 8).flatMap(name => view.cString(strings + name, 256)), view.u32(aux + 12)) match
              case (Some(name), Some(next)) =>
                names += name
                left -= 1
                if left > 0 && next == 0 then sound = false
                aux += next
              case _ => sound = false
            if budget <= 0 then sound = false
          filesLeft -= 1
          budget -= 1
          if budget <= 0 || (filesLeft > 0 && toNext == 0) then sound = false
          file += toNext
        case _ => sound = false
    Option.when(sound)(names.result())

  /** Returns the file offset of a loaded address. */
  private def fileOffset(segments: Vector[Segment], address: Long): Option[Long] =
    segments
      .find(s =>
        s.kind == Load && s.size > 0 && address >= s.address && s.address >= 0 && address - s.address < s.size
      )
      .map(s => s.offset + (address - s.address))
      .filter(view.has(_, 1))

private object ElfReader:
  final case class Segment(kind: Long, offset: Long, address: Long, size: Long)

  val Magic = 0x464c457fL
  val Bits64 = 2
  val LittleEndian = 1
  val Executable = 2
  val PositionIndependent = 3
  val Machines = Map(62 -> "x86_64", 183 -> "aarch64")
  val SegmentHeaderSize = 56
  val Load = 1L
  val Dynamic = 2L
  val Interpreter = 3L
  val StringTable = 5L
  val VersionNeeds = 0x6ffffffeL
  val VersionNeedsCount = 0x6fffffffL
  val MaxEntries = 65536

  private val Glibc = raw"GLIBC_(\d.*)".r

  def libcVersion(name: String): Option[LibcVersion] = name match
    case Glibc(version) => LibcVersion.parse(version)
    // Required by packed relative relocations, which glibc supports since 2.36.
    case "GLIBC_ABI_DT_RELR" => Some(LibcVersion(2, 36))
    case _ => None

  def all[A](options: Vector[Option[A]]): Option[Vector[A]] =
    Option.when(options.forall(_.isDefined))(options.flatten)
