package burst.invoker.packages

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import scala.jdk.StreamConverters.*

class UnpackerSuite extends munit.FunSuite:
  private val limits = UnpackLimits(bytes = 1_000_000, entries = 10)
  private val scratch = FunFixture[Path](_ => Files.createTempDirectory("unpack"), Unpacker.delete(_))

  private def unpack(
      scratch: Path,
      bytes: Array[Byte],
      limits: UnpackLimits = limits
  ): Either[PackageProblem, Long] =
    val archive = Files.write(scratch.resolve("archive"), bytes)
    Unpacker.unpack(archive, scratch.resolve("inner/target"), limits)

  /** The size charged for this many files and directories, including the package's own. */
  private def entries(count: Int): Long = count * 4096L

  private def files(scratch: Path): Set[String] =
    Files.walk(
      scratch
    ).toScala(Vector).filter(Files.isRegularFile(_)).map(scratch.relativize(_).toString).toSet

  scratch.test("a zip becomes a directory that is read-only and executable"): scratch =>
    val bytes = Zips.of("exec" -> Zips.Elf, "data/table.csv" -> "a,b".getBytes, "empty/" -> Array.empty)
    assertEquals(unpack(scratch, bytes), Right(Zips.Elf.length + 3L + entries(5)))
    val target = scratch.resolve("inner/target")
    assertEquals(files(target), Set("exec", "data/table.csv"))
    assert(Files.isExecutable(target.resolve("exec")))
    assertEquals(Files.getPosixFilePermissions(target.resolve("data/table.csv")).size, 6)
    assert(Files.isDirectory(target.resolve("empty")))

  scratch.test("a bare executable becomes exec"): scratch =>
    assertEquals(unpack(scratch, Zips.Elf), Right(Zips.Elf.length + entries(2)))
    assertEquals(files(scratch.resolve("inner/target")), Set("exec"))

  for name <- List("../x", "a/../../x", "/x", "a//x", "./x", "..", "a/..", "a\\..\\x", "x\u0000y") do
    scratch.test(s"a name that leaves the package is refused: ${name.replace('\u0000', '0')}"): scratch =>
      val outcome = unpack(scratch, Zips.of("exec" -> Zips.Elf, name -> "x".getBytes))
      assert(outcome.isLeft, outcome.toString)
      assert(!files(scratch).exists(_.endsWith("x")), files(scratch).toString)

  scratch.test("an archive that unpacks to more than the limit is given up, however small it is"): scratch =>
    val bomb = Zips.of("exec" -> Zips.Elf, "zeros" -> new Array[Byte](50_000_000))
    assert(bomb.length < 100_000)
    assert(unpack(scratch, bomb).left.exists(_.sentence.contains("more than is allowed")))
    assert(Files.size(scratch.resolve("inner/target/zeros")) <= limits.bytes)

  scratch.test("the limit applies to all files together"): scratch =>
    val parts = (1 to 4).map(i => s"part$i" -> new Array[Byte](300_000))
    assert(unpack(scratch, Zips.of(("exec" -> Zips.Elf) +: parts*)).isLeft)

  scratch.test("too many files are refused before any is written"): scratch =>
    val many = (1 to 20).map(i => s"f$i" -> Array.empty[Byte])
    assert(unpack(
      scratch,
      Zips.of(("exec" -> Zips.Elf) +: many*)
    ).left.exists(_.sentence.contains("more than the 10 files")))
    assertEquals(files(scratch), Set("archive"))

  scratch.test("directories count once, whether the zip names them or not"): scratch =>
    val exec = "exec" -> Zips.Elf
    val most = Zips.of(
      exec,
      "a/b/" -> Array.empty,
      "a/b/c/f" -> Zips.Elf,
      "a/b/c/d/g" -> Zips.Elf,
      "e/i/h" -> Zips.Elf
    )
    assertEquals(unpack(scratch, most), Right(4L * Zips.Elf.length + entries(11)))
    Unpacker.delete(scratch.resolve("inner"))
    val deep = Zips.of(exec, ("a/" * 500) + "f" -> Array.empty)
    assert(unpack(scratch, deep).left.exists(_.sentence.contains("more than the 10 files and directories")))
    assert(!Files.exists(scratch.resolve("inner/target/a/a/a/a/a/a/a/a/a/a")))

  scratch.test("a path that is too long is refused before its directories are made"): scratch =>
    val long = Zips.of("exec" -> Zips.Elf, ("a/" * 30_000) + "f" -> Array.empty)
    assert(unpack(scratch, long, limits.copy(entries = 50_000)).left.exists(_.sentence.contains("too long")))
    assert(!Files.exists(scratch.resolve("inner/target/a")))

  scratch.test("a failure of this machine is not blamed on the package"): scratch =>
    val archive = Files.write(scratch.resolve("archive"), Zips.of("exec" -> Zips.Elf))
    val _ = Files.write(scratch.resolve("occupied"), Array.empty[Byte])
    intercept[java.io.IOException](Unpacker.unpack(archive, scratch.resolve("occupied/target"), limits))
    assert(unpack(scratch, Zips.of("exec" -> Zips.Elf, "n" * 300 -> Zips.Elf)).isLeft)

  scratch.test("a source file becomes source, and a zip needs no executable"): scratch =>
    val source = "#!/usr/bin/env python3\ndef main(args): return {}".getBytes
    assertEquals(unpack(scratch, source), Right(source.length + entries(2)))
    assertEquals(files(scratch.resolve("inner/target")), Set("source"))
    Unpacker.delete(scratch.resolve("inner"))
    assert(unpack(scratch, Zips.of("__main__.py" -> source)).isRight)
    assertEquals(files(scratch.resolve("inner/target")), Set("__main__.py"))

  scratch.test("a file that is also a directory is refused"): scratch =>
    assert(unpack(scratch, Zips.of("exec" -> Zips.Elf, "a" -> Zips.Elf, "a/b" -> Zips.Elf)).isLeft)

  scratch.test("a changed package is deleted, and nothing outside it"): scratch =>
    assert(unpack(scratch, Zips.of("exec" -> Zips.Elf, "a/b" -> Zips.Elf)).isRight)
    val target = scratch.resolve("inner/target")
    val outside = Files.createDirectory(scratch.resolve("outside"))
    Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rwxr-xr-x"))
    Files.createSymbolicLink(target.resolve("link"), outside)
    Files.setPosixFilePermissions(outside, PosixFilePermissions.fromString("r-x------"))
    // This is the worst that the owner can do to it. Root, if the test runs as root, could still read it.
    Files.setPosixFilePermissions(target.resolve("a"), PosixFilePermissions.fromString("---------"))
    Unpacker.delete(target)
    assert(!Files.exists(target))
    assertEquals(PosixFilePermissions.toString(Files.getPosixFilePermissions(outside)), "r-x------")

  for (name, bytes) <- List(
      "nothing" -> Array.empty[Byte],
      "half a zip" -> Zips.of("exec" -> Zips.noise(1000, 1)).take(500),
      "a zip's first bytes" -> Array[Byte]('P', 'K', 3, 4)
    )
  do scratch.test(s"an invalid package is refused: $name")(scratch => assert(unpack(scratch, bytes).isLeft))
