package burst.controller.deploy

/** Why a package is refused, as data; `http/ApiError` renders it. */
enum PackageProblem:
  case Empty

  /** Neither a zip nor an executable. */
  case NotAPackage
  case CorruptZip(damage: ZipDamage)
  case CorruptTar(damage: TarDamage)
  case NoExec

  /** It has none of these files, one of which its kind needs as an entry point. */
  case NoEntry(wanted: Vector[String])

  /** It is sent as a file, but not one that a program of its kind can be. */
  case NotAProgram
  case UnsafePath(path: String)
  case NotAFile(path: String)

  /** There are too many files and directories, whether the directories have entries or not; counted only up
    * to the limit.
    */
  case TooManyEntries(allowed: Int)
  case ExecutableTooLarge(bytes: Long, allowed: Long)
  case UnpacksTooLarge(bytes: Long, allowed: Long)

  /** The zip made from a tar would be too large. */
  case RepacksTooLarge(allowed: Long)

  /** `exec` is not a program for Linux but, for example, a script or another system's executable. */
  case NotAnExecutable
  case CorruptExecutable(unreadable: ElfPart)
  case WrongArchitecture(found: String, runtime: String)
  case NewerLibc(needed: LibcVersion, runtime: LibcVersion)

  /** Linked against a C library that the runtime image does not have. */
  case OtherLibc(loader: String)

/** What is wrong with a damaged zip. Its directory is the list of entries at its end. */
enum ZipDamage:
  case NoDirectory, DirectoryCutOff, UnreadableDirectory, UncountedEntries, PathTwice, DirectoryWithContent

  /** The entry is encrypted, is compressed by a method other than deflate, or is not what the directory says.
    */
  case Encrypted(path: String)
  case OtherMethod(path: String)
  case CannotUnpack(path: String)

/** What is wrong with a damaged tar.gz. */
enum TarDamage:
  case CutOff, CannotUnpack, DamagedHeader, PathTwice, DirectoryWithContent, MostlyHeaders, AfterItsEnd
  case LongHeader(allowed: Int)

/** A part of an ELF executable. */
enum ElfPart:
  case Header, ProgramHeaders, Interpreter, DynamicSegment, LibraryVersions

/** A version of the GNU C library, e.g. 2.36. */
final case class LibcVersion(major: Int, minor: Int):
  override def toString: String = s"$major.$minor"

object LibcVersion:
  given Ordering[LibcVersion] = Ordering.by(v => (v.major, v.minor))

  private val Form = raw"(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?".r

  def parse(text: String): Option[LibcVersion] = text match
    case Form(major, minor) => Some(LibcVersion(major.toInt, minor.toInt))
    case _ => None
