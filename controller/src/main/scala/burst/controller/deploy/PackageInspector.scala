package burst.controller.deploy

import burst.controller.limits.PackageLimits
import burst.protocol.RuntimeInfo

/** Whether a package can run on the cluster, told at deploy rather than by a pack that does not start. Pure;
  * for any bytes it returns a verdict, in time linear in what they may unpack to.
  */
final class PackageInspector(limits: PackageLimits):
  import PackageProblem.*

  /** `runtimes` are those of the invokers that are up: a pack may be placed on any of them, so the package
    * must run on all. With none there is nothing to compare with.
    */
  def inspect(bytes: Array[Byte], runtimes: Iterable[RuntimeInfo]): Either[PackageProblem, Unit] =
    for
      executable <- executable(bytes)
      needs <- ElfReader(ByteView(executable)).needs()
      _ <- runtimes.iterator.map(check(needs, _)).find(_.isLeft).getOrElse(Right(()))
    yield ()

  private def executable(bytes: Array[Byte]): Either[PackageProblem, Array[Byte]] =
    val view = ByteView(bytes)
    if bytes.isEmpty then Left(Empty)
    else if view.u32(0).contains(ElfReader.Magic) then
      Either.cond(
        bytes.length <= limits.unpackedBytes,
        bytes,
        UnpacksTooLarge(bytes.length, limits.unpackedBytes)
      )
    else if view.u16(0).contains(ZipPrefix) then ZipReader(bytes, limits).check("exec")
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
