package burst.controller.deploy

import burst.controller.definition.KindFamily
import burst.controller.limits.PackageLimits
import burst.protocol.RuntimeInfo

/** Checks whether a package can run on the cluster, at deploy rather than when a pack fails to start. Pure;
  * for any bytes it returns a verdict, in time linear in the size they may unpack to.
  */
final class PackageInspector(limits: PackageLimits):
  import PackageProblem.*

  /** Checks an executable or a zip with one. `runtimes` are those of the invokers that are up: a pack may be
    * placed on any of them, so the package must run on all. If there are none, there is nothing to compare
    * with.
    */
  def inspect(bytes: Array[Byte], runtimes: Iterable[RuntimeInfo]): Either[PackageProblem, Unit] =
    for
      executable <- executable(bytes)
      needs <- ElfReader(ByteView(executable)).needs()
      _ <- runtimes.iterator.map(check(needs, _)).find(_.isLeft).getOrElse(Right(()))
    yield ()

  /** Checks a program of any kind, except for what only starting it would show.
    *
    * @param binary
    *   whether it is a file, not the text of a source
    */
  def inspect(
      bytes: Array[Byte],
      family: KindFamily,
      binary: Boolean,
      runtimes: Iterable[RuntimeInfo]
  ): Either[PackageProblem, Unit] = family match
    case KindFamily.Rust | KindFamily.Go | KindFamily.Swift => inspect(bytes, runtimes)
    case KindFamily.Python => file(bytes, binary, runtimes, "__main__.py", "exec")
    case KindFamily.Nodejs => file(bytes, binary, runtimes, "package.json", "index.js", "exec")
    // How its image uses the rest is not known here.
    case KindFamily.Blackbox =>
      if isZip(bytes) then ZipReader(bytes, limits).paths().map(_ => ()) else Right(())
    case KindFamily.Sequence => Right(())

  private def file(
      bytes: Array[Byte],
      binary: Boolean,
      runtimes: Iterable[RuntimeInfo],
      entries: String*
  ): Either[PackageProblem, Unit] =
    if bytes.isEmpty then Left(Empty)
    else if !binary then Right(())
    else if isZip(bytes) then
      ZipReader(bytes, limits).paths().flatMap: paths =>
        Either.cond(entries.exists(paths.contains), (), NoEntry(entries.toVector))
    // An executable that implements the action loop.
    else if ByteView(bytes).u32(0).contains(ElfReader.Magic) then inspect(bytes, runtimes)
    else Left(NotAProgram)

  private def isZip(bytes: Array[Byte]): Boolean = ByteView(bytes).u16(0).contains(ZipPrefix)

  private def executable(bytes: Array[Byte]): Either[PackageProblem, Array[Byte]] =
    val view = ByteView(bytes)
    if bytes.isEmpty then Left(Empty)
    else if view.u32(0).contains(ElfReader.Magic) then
      Either.cond(
        bytes.length <= limits.unpackedBytes,
        bytes,
        UnpacksTooLarge(bytes.length, limits.unpackedBytes)
      )
    else if isZip(bytes) then ZipReader(bytes, limits).check("exec")
    else Left(NotAPackage)

  private def check(needs: ElfNeeds, runtime: RuntimeInfo): Either[PackageProblem, Unit] =
    if needs.arch != runtime.arch then Left(WrongArchitecture(needs.arch, runtime.arch))
    else if needs.loader.exists(_.contains("musl")) then Left(OtherLibc("musl"))
    else
      (needs.libc, LibcVersion.parse(runtime.glibc)) match
        case (Some(needed), Some(available)) if summon[Ordering[LibcVersion]].gt(needed, available) =>
          Left(NewerLibc(needed, available))
        case _ => Right(())

  private val ZipPrefix = 0x4b50 // "PK"
