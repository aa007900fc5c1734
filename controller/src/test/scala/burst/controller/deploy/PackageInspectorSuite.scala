package burst.controller.deploy

import burst.controller.limits.PackageLimits
import burst.controller.deploy.Executables.*
import burst.controller.deploy.PackageProblem.*
import burst.protocol.RuntimeInfo
import java.nio.file.{Files, Path}
import java.util.Random

class PackageInspectorSuite extends munit.FunSuite:
  private val limits = PackageLimits(entries = 20, unpackedBytes = 1 << 20, executableBytes = 1 << 19)
  private val inspector = PackageInspector(limits)
  private val runtime = RuntimeInfo("x86_64", "2.36")

  private def inspect(bytes: Array[Byte], runtimes: RuntimeInfo*) =
    inspector.inspect(bytes, if runtimes.isEmpty then Seq(runtime) else runtimes)

  private def refused(bytes: Array[Byte]): PackageProblem =
    inspect(bytes).fold(identity, _ => fail("was accepted"))

  private def corruptZip(bytes: Array[Byte])(using munit.Location): Unit =
    refused(bytes) match
      case CorruptZip(_) => ()
      case other => fail(s"not reported as a corrupt zip: $other")

  test("an empty file, text, a script and an object file are refused as what they are"):
    assertEquals(refused(Array.empty), Empty)
    assertEquals(refused("hello".getBytes), NotAPackage)
    assertEquals(refused("#!/bin/sh\n".getBytes), NotAPackage)
    assertEquals(refused(zip("exec" -> "#!/bin/sh\n".getBytes)), NotAnExecutable)
    assertEquals(refused(elf(kind = 1)), NotAnExecutable)

  test("a zip without 'exec' at its top level is refused"):
    assertEquals(refused(zip("bin/exec" -> elf())), NoExec)
    assertEquals(refused(zip("exec/" -> Array.empty)), NoExec)

  test("an executable for another architecture is refused with its name, 32-bit ones included"):
    assertEquals(refused(elf(machine = 183)), WrongArchitecture("aarch64", "x86_64"))
    assertEquals(refused(elf(machine = 243)), WrongArchitecture("machine 243", "x86_64"))
    val bits32 = elf()
    bits32(4) = 1
    assertEquals(refused(bits32), WrongArchitecture("32-bit machine 62", "x86_64"))

  test("the newest C library version required decides, compared as numbers and not as text"):
    val needed = elf(Seq("GLIBC_2.4", "GLIBC_2.38", "GLIBC_2.5", "GLIBC_PRIVATE", "GCC_3.0"))
    assertEquals(refused(needed), NewerLibc(LibcVersion(2, 38), LibcVersion(2, 36)))
    assertEquals(inspect(elf(Seq("GLIBC_2.36"))), Right(()))
    assertEquals(inspect(elf(Seq("GLIBC_ABI_DT_RELR")), RuntimeInfo("x86_64", "2.35")).isLeft, true)

  test("a package must run on every invoker's runtime; without invokers it is accepted"):
    val old = RuntimeInfo("x86_64", "2.31")
    assertEquals(inspect(elf(), runtime, old), Left(NewerLibc(LibcVersion(2, 34), LibcVersion(2, 31))))
    assertEquals(inspector.inspect(elf(machine = 183), Seq.empty), Right(()))

  test("an executable with another C library's loader is refused"):
    assertEquals(refused(elf(Seq("X"), loader = "/lib/ld-musl-x86_64.so.1")), OtherLibc("musl"))

  test("a static and a dynamic executable are accepted, bare and in a zip"):
    Seq(elf(), elf(versions = Seq.empty), elf(kind = 2)).foreach: bytes =>
      assertEquals(inspect(bytes), Right(()))
      assertEquals(inspect(zip("data/" -> Array.empty, "data/a.txt" -> Array(1), "exec" -> bytes)), Right(()))

  test("a real executable is read: the one that runs this test"):
    val self = Path.of("/proc/self/exe")
    assume(Files.exists(self), "no /proc here")
    val bytes = Files.readAllBytes(self)
    val arch = if System.getProperty("os.arch") == "amd64" then "x86_64" else System.getProperty("os.arch")
    assertEquals(inspect(bytes, RuntimeInfo(arch, "2.99")), Right(()))
    inspect(bytes, RuntimeInfo(arch, "2.1")) match
      case Left(NewerLibc(_, _) | OtherLibc(_)) => ()
      case other => fail(s"its C library was not found: $other")

  test("a truncated package is refused, wherever it is cut"):
    val whole = elf()
    (4 until whole.length - 16).foreach(n => assert(inspect(whole.take(n)).isLeft, s"cut to $n bytes"))
    val zipped = zip("exec" -> whole)
    (0 until zipped.length).foreach(n => assert(inspect(zipped.take(n)).isLeft, s"cut to $n bytes"))

  test("paths that lead out of the package, and links, are refused"):
    Seq("../exec", "/exec", "a/../../b", "a//b", "./a", "a\\b", "c:/x", "a\nb", "").foreach: path =>
      assertEquals(refused(zip("exec" -> elf(), path -> Array(1))), UnsafePath(path))
    val link = patched(zip("exec" -> elf()), offset = 38, size = 4, value = 0xa1ffL << 16)
    assertEquals(refused(link), NotAFile("exec"))

  test("too many entries and too much content are refused before they are unpacked"):
    val many = zip(("exec" -> elf()) +: Vector.tabulate(20)(i => s"f$i" -> Array.empty[Byte])*)
    assertEquals(refused(many), TooManyEntries(20))
    val bomb = zip("exec" -> elf(), "zeros" -> new Array[Byte](3 << 20))
    assertEquals(refused(bomb), UnpacksTooLarge((3 << 20) + elf().length, 1 << 20))

  test("each directory counts once, whether a zip names it or only goes through it"):
    def deep(depth: Int) = zip("exec" -> elf(), "a/" -> Array.empty, "a/" * depth + "f" -> Array.empty)
    assertEquals(inspect(deep(18)), Right(()))
    assertEquals(refused(deep(19)), TooManyEntries(20))
    // Few files that go through more directories than could be counted one by one.
    val many = Vector.tabulate(9999)(i => f"$i%05d/" + "a/" * 507 + "f" -> Array.empty[Byte])
    val usual = PackageInspector(limits.copy(entries = 10_000))
    assertEquals(usual.inspect(zip(("exec" -> elf()) +: many*), Seq(runtime)), Left(TooManyEntries(10_000)))

  test("an executable that is too large to inspect is refused before it is unpacked"):
    val large = zip("exec" -> (elf() ++ new Array[Byte](1 << 19)))
    assertEquals(refused(large), ExecutableTooLarge((1 << 19) + elf().length, 1 << 19))

  test("an entry that unpacks to more or less than it declares is refused"):
    val honest = zip("exec" -> elf())
    corruptZip(patched(honest, offset = 24, size = 4, value = elf().length - 1))
    corruptZip(patched(honest, offset = 24, size = 4, value = elf().length + 1))

  test("a wrong checksum, an unknown method, encryption and two names for one entry are refused"):
    val honest = zip("exec" -> elf())
    corruptZip(patched(honest, offset = 16, size = 4, value = 1))
    corruptZip(patched(honest, offset = 10, size = 2, value = 12))
    corruptZip(patched(honest, offset = 8, size = 2, value = 1))
    corruptZip(patched(zip("data" -> Array(1), "exec" -> elf()), offset = 46, size = 1, value = 'X'))
    corruptZip(patched(honest, offset = 42, size = 4, value = 0x7fffffff))

  // The invoker's reader would unpack a different directory from the one checked here.
  test("a zip that can be read in two ways is refused"):
    val first = zip("exec" -> elf())
    val second = zip("exec" -> elf(machine = 183))
    // The end record names the first directory but follows the second.
    corruptZip(first.dropRight(22) ++ second.dropRight(22) ++ first.takeRight(22))
    // The second zip, followed by one more byte, is the first one's comment.
    val comment = second ++ Array[Byte](1)
    val commented = first.dropRight(2) ++ Array((comment.length & 0xff).toByte, (comment.length >> 8).toByte)
    corruptZip(commented ++ comment)
    // Leading bytes shift every offset.
    corruptZip(first.take(30) ++ first)
    // The end record counts fewer entries than the directory holds.
    val two = zip("exec" -> elf(), "data" -> Array(1))
    two(two.length - 12) = 1
    corruptZip(two)

  test("a zip with a comment is accepted"):
    val comment = "made by hand".getBytes
    assertEquals(
      inspect(zip("exec" -> elf()).dropRight(2) ++ Array[Byte](comment.length.toByte, 0) ++ comment),
      Right(())
    )

  test("changing up to eight bytes always yields a verdict, never an exception or an endless loop"):
    val random = Random(42)
    val seeds =
      Vector(elf(), elf(Seq.tabulate(50)(i => s"GLIBC_2.$i")), zip("a" -> Array(1), "exec" -> elf()))
    val extremes = Array[Byte](0, 1, -1, 127, -128, 16)
    (1 to 20000).foreach: round =>
      val bytes = seeds(round % seeds.size).clone
      (0 to random.nextInt(8)).foreach: _ =>
        bytes(random.nextInt(bytes.length)) =
          if random.nextBoolean() then extremes(random.nextInt(extremes.length)) else random.nextInt.toByte
      inspect(bytes)

  test("following version needs ends, even if they point back at themselves"):
    val bytes = elf(Seq.tabulate(100)(i => s"GLIBC_2.$i"))
    // Each copy has 0xffff somewhere else: a record claims 65,535 entries, or a step leads anywhere.
    (64 until bytes.length).foreach: at =>
      val copy = bytes.clone
      copy(at) = -1
      if at + 1 < copy.length then copy(at + 1) = -1
      inspect(copy)
