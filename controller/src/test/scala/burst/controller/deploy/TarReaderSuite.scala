package burst.controller.deploy

import burst.controller.definition.KindFamily
import burst.controller.deploy.PackageProblem.*
import burst.controller.deploy.Tars.*
import burst.controller.limits.PackageLimits
import java.util.Random
import scala.concurrent.duration.DurationInt

/** Well-formed and malformed tars, up to the zips that are made of them. */
class TarReaderSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val limits = PackageLimits(entries = 20, unpackedBytes = 1 << 20, executableBytes = 1 << 19)
  private val most = 1L << 20

  private def zip(tar: Array[Byte], limits: PackageLimits = limits) =
    TarToZip(limits)(tar, most, _ => true)

  private def files(tar: Array[Byte])(using munit.Location): Map[String, String] =
    val made = zip(tar).fold(problem => fail(s"was refused: $problem"), identity)
    assertEquals(ZipReader(made, limits).paths(), Right(unzipped(made).map(_(0))))
    unzipped(made).toMap

  private def refused(entries: Array[Byte]*): PackageProblem = refusedTar(tgz(entries*))

  private def refusedTar(tar: Array[Byte]): PackageProblem = zip(tar) match
    case Left(problem: PackageProblem) => problem
    case other => fail(s"was not refused: $other")

  private def corrupt(tar: Array[Byte])(using munit.Location): Unit = refusedTar(tar) match
    case CorruptTar(_) => ()
    case other => fail(s"not reported as a damaged tar: $other")

  private val long = "d" * 90 + "/" + "e" * 90 + "/" + "f" * 90
  private val sources = Seq("index.js" -> "exports.main = 1\n", "lib/a.js" -> "é", "empty" -> "")

  test("files packed by tar come out unchanged, in each format and with long names"):
    for (format, more) <- Seq("ustar" -> Nil, "gnu" -> Seq(long), "pax" -> Seq(long), "v7" -> Nil) do
      val packed = sources ++ more.map(_ -> "long") :+ ("zeros" -> "\u0000" * 100_000)
      val there = files(made(packed*)("-czf", "-", s"--format=$format", "."))
      assertEquals(there.filterNot((path, _) => path.endsWith("/")), packed.toMap, format)
      assert(there.contains("lib/"), format)
      val named = made(packed*)("-czf", "-", s"--format=$format", "index.js", "lib")
      assertEquals(files(named).keySet, Set("index.js", "lib/", "lib/a.js"), format)
    val ustar = "d" * 90 + "/" + "f" * 90
    assertEquals(files(made(ustar -> "x")("-czf", "-", "--format=ustar", ustar)), Map(ustar -> "x"))

  test("the directory that npm packs everything into is stripped, and no other"):
    val packaged = sources.map((path, text) => s"package/$path" -> text)
    val packed = made(packaged*)("-czf", "-", "package")
    assertEquals(files(packed), sources.toMap + ("lib/" -> ""))
    assertEquals(files(made(packaged*)("-czf", "-", "./package")), sources.toMap + ("lib/" -> ""))
    val beside = files(made(packaged :+ ("x" -> "")*)("-czf", "-", "package", "x"))
    assert(beside.contains("package/index.js") && beside.contains("x"), beside.keys)
    assertEquals(files(tgz(entry("packages/x"))).keySet, Set("packages/x"))
    assertEquals(files(tgz(entry("package"))).keySet, Set("package"))

  test("the same tar always gives the same zip"):
    val tar = made(sources*)("-czf", "-", ".")
    assertEquals(zip(tar).map(_.toVector), zip(tar).map(_.toVector))
    assertEquals(zip(tgz(entry("a"))).map(unzipped), Right(Vector("a" -> "")))

  test("a tar is recognized by its first bytes, and only for Node"):
    val tar = tgz(entry("a"))
    assert(TarToZip.takes(tar, KindFamily.Nodejs))
    assert(!TarToZip.takes(tar, KindFamily.Python))
    assert(!TarToZip.takes(Executables.zip("a" -> Array(1)), KindFamily.Nodejs))
    assert(!TarToZip.takes(Array(0x1f), KindFamily.Nodejs))

  test("the headers of each format are read as its programs write them"):
    val text = "x".getBytes
    assertEquals(files(tgz(entry("b", text, prefix = "a"))), Map("a/b" -> "x"))
    // GNU's format uses this field for something else.
    assertEquals(files(tgz(entry("b", text, prefix = "1", magic = "ustar  \u0000"))), Map("b" -> "x"))
    assertEquals(files(tgz(entry("b", text, kind = '\u0000', magic = ""))), Map("b" -> "x"))
    assertEquals(files(tgz(entry("b", text, kind = '7'))), Map("b" -> "x"))
    assertEquals(
      files(tgz(entry("b/", kind = '\u0000'), entry("c", kind = '5'))),
      Map("b/" -> "", "c/" -> "")
    )
    val base256 = Array[Byte](-128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    assertEquals(files(tgz(entry("b", text, size = Some(base256)))), Map("b" -> "x"))
    assertEquals(files(tgz(entry("b", text, size = Some("          1 ".getBytes)))), Map("b" -> "x"))
    val name = entry("././@LongLink", (long + "\u0000").getBytes, kind = 'L')
    assertEquals(files(tgz(name, entry("d", text), entry("e"))), Map(long -> "x", "e" -> ""))
    val said = pax("mtime" -> "1.5", "path" -> "é/ü", "size" -> "1", "comment" -> "a=b\nc")
    val zero = Some("00000000000".getBytes)
    assertEquals(files(tgz(said, entry("d", text, size = zero), entry("e"))), Map("é/ü" -> "x", "e" -> ""))
    val all = pax("path" -> "all")
    all(156) = 'g'
    assertEquals(files(tgz(signed(all), entry("d"))), Map("d" -> ""))

  test("a tar without files becomes an empty zip; padding and a gzip's own fields are ignored"):
    assertEquals(files(tgz(entry("./", kind = '5'))), Map.empty)
    assertEquals(files(gzip(new Array[Byte](10240))), Map.empty)
    assertEquals(files(gzip(ended(entry("a")) ++ new Array[Byte](20_000))), Map("a" -> ""))
    val plain = tgz(entry("a"))
    val fields = Array[Byte](1, 0, 7) ++ "name\u0000comment\u0000".getBytes ++ Array[Byte](0, 0)
    val header = plain.take(10)
    header(3) = (2 | 4 | 8 | 16).toByte
    assertEquals(files(header ++ fields ++ plain.drop(10)), Map("a" -> ""))

  test("paths that lead out of the package are refused, as in zips"):
    Seq("../a", "/a", "a/../../b", "a//b", "a/./b", "a\\b", "c:/x", "a\nb", "..", "", "./../a", "././a", "/")
      .foreach: path =>
        val problem = refused(entry("x"), entry(path))
        assert(problem.isInstanceOf[UnsafePath], s"$path: $problem")
    assertEquals(refused(pax("path" -> "../a"), entry("a")), UnsafePath("../a"))
    assertEquals(refused(pax("path" -> "a\u0000b"), entry("a")), UnsafePath("a\u0000b"))
    assertEquals(refused(pax("path" -> "x" * 1025), entry("a")), UnsafePath("x" * 1025))
    assertEquals(refused(entry("package/a"), entry("package/../a")), UnsafePath("package/../a"))
    assertEquals(refused(entry("b", prefix = "..")), UnsafePath("../b"))

  test("links, devices, partial files and unknown kinds of entries are refused"):
    for kind <- Seq('1', '2', '3', '4', '6', 'K', 'S', 'M', 'V', 'Z') do
      assertEquals(refused(entry("a"), entry("b", kind = kind)), NotAFile("b"))
    assertEquals(refused(pax("GNU.sparse.major" -> "1"), entry("b")), NotAFile("b"))

  test("the extra files that npm and macOS add to a package are left out"):
    val there = files(
      tgz(
        entry("./._package", "note".getBytes),
        entry("package/index.js", "x".getBytes),
        entry("package/._index.js", "note".getBytes),
        entry("package/node_modules/.bin/tool", kind = '2'),
        entry("package/node_modules/.bin/other", kind = '1')
      )
    )
    assertEquals(there, Map("index.js" -> "x"))
    assertEquals(refused(entry("node_modules/tool", kind = '2')), NotAFile("node_modules/tool"))

  test("names with equal hash codes are told apart as fast as others"):
    val parts = Vector("Aa", "BB")
    val names = (1 to 13).foldLeft(Vector("x" * 60))((all, _) => all.flatMap(name => parts.map(name + _)))
    assertEquals(names.map(_.hashCode).distinct.size, 1)
    val many = PackageLimits(entries = 10_000, unpackedBytes = 1 << 20, executableBytes = 1 << 19)
    val packed = tgz(names.map(entry(_))*)
    val made =
      TarToZip(many)(packed, 1L << 24, _ => true).fold(problem => fail(s"was refused: $problem"), identity)
    assertEquals(ZipReader(made, many).paths().map(_.size), Right(8192))

  test("a file that occurs twice is refused, and a directory that does counts as one"):
    corrupt(tgz(entry("a"), entry("a")))
    corrupt(tgz(entry("a"), entry("./a")))
    corrupt(tgz(entry("a"), entry("a/", kind = '5')))
    corrupt(tgz(entry("a/", kind = '5'), entry("a")))
    assertEquals(files(tgz(entry("a/", kind = '5'), entry("a", kind = '5'))), Map("a/" -> ""))

  test("too many entries and too much content are refused as soon as they are read"):
    assertEquals(refused(Vector.tabulate(21)(i => entry(s"f$i"))*), TooManyEntries(20))
    assertEquals(refused(Vector.fill(21)(entry("d", kind = '5'))*), TooManyEntries(20))
    val bomb = gzip(entry("zeros", new Array[Byte](3 << 20)))
    assertEquals(refusedTar(bomb), UnpacksTooLarge(3 << 20, 1 << 20))
    assertEquals(
      refused(entry("a", Array(1)), entry("b", new Array[Byte](1 << 20))),
      UnpacksTooLarge((1 << 20) + 1, 1 << 20)
    )
    // After the end, and in headers that no entry follows.
    corrupt(gzip(new Array[Byte](3 << 20)))
    val headers = Vector.fill(3000)(pax("path" -> "a"))
    corrupt(tgz(headers*))

  test("a declared size is trusted only as far as the content arrives"):
    val gib = "10000000000".getBytes // In octal.
    assertEquals(refusedTar(gzip(entry("a", size = Some(gib)))), UnpacksTooLarge(1 << 30, 1 << 20))
    for kind <- Seq('x', 'g', 'L') do corrupt(gzip(entry("a", kind = kind, size = Some(gib))))
    assertEquals(
      refused(pax("size" -> (1 << 30).toString), entry("a")),
      UnpacksTooLarge(1 << 30, 1 << 20)
    )
    val largest = pax("size" -> Long.MaxValue.toString)
    assertEquals(
      refused(entry("b", Array(1)), largest, entry("a")),
      UnpacksTooLarge(Long.MaxValue, 1 << 20)
    )
    val usual = PackageLimits(10_000, 512 << 20, 1)
    val few = gzip(entry("a", size = Some("03777777777".getBytes))) // 512 MiB less a byte, none of it there.
    assertEquals(zip(few, usual), Left(CorruptTar(TarDamage.CutOff)))

  test("invalid numbers, checksums and records are reported as damage"):
    for size <- Seq("0000000000x", "-0000000001", "9") do
      corrupt(tgz(entry("a", size = Some(size.padTo(12, ' ').getBytes))))
    corrupt(tgz(entry("a", size = Some(Array.fill[Byte](12)(-1)))))
    val unsigned = entry("a")
    unsigned(0) = 'b'
    corrupt(tgz(unsigned))
    for text <- Seq("5", "x", "99 path=a\n", "9 path=ab\n\n", "0 path=a\n", "10 path=a ", "6 path\n", " =\n")
    do
      corrupt(tgz(entry("x", text.getBytes, 'x'), entry("a")))
    corrupt(tgz(pax("size" -> "-1"), entry("a")))
    corrupt(tgz(pax("size" -> "99999999999999999999"), entry("a")))
    corrupt(tgz(entry("a", Array(1), kind = '5')))
    corrupt(gzip(ended(entry("a")) ++ entry("b")))
    corrupt(gzip(entry("a")))

  test("a damaged gzip is refused, and so are two gzips in one file"):
    val whole = tgz(entry("a", "text".getBytes))
    for at <- Seq(2, 3, whole.length - 1, whole.length - 5, whole.length - 8) do
      val copy = whole.clone
      copy(at) = (copy(at) ^ 0xe0).toByte
      corrupt(copy)
    corrupt(whole ++ whole)
    corrupt(whole :+ 0.toByte)
    // `GZIPInputStream` would recurse once for each of them.
    val empty = gzip(Array.empty)
    corrupt(Array.fill(100_000)(empty).flatten ++ whole)

  test("a truncated gzip, and a gzip of a truncated tar, are refused wherever they are cut"):
    val entries = Seq(pax("path" -> "é"), entry("a", Array.tabulate(700)(_.toByte)), entry("b/", kind = '5'))
    val whole = tgz(entries*)
    (0 until whole.length).foreach(n => corrupt(whole.take(n)))
    val plain = entries.flatten.toArray
    (0 to plain.length).foreach(n => corrupt(gzip(plain.take(n))))

  test("random bytes, and changes of up to eight bytes, always yield a verdict"):
    val random = Random(42)
    val name = entry("././@LongLink", (long + "\u0000").getBytes, kind = 'L')
    val seeds = Vector(
      ended(pax("path" -> "é", "size" -> "3"), entry("a", "abc".getBytes)),
      ended(name, entry("d", "x".getBytes), entry("e/", kind = '5')),
      tgz(entry("a", Array.tabulate(700)(_.toByte)))
    )
    val extremes = Array[Byte](0, 1, -1, 127, -128, '0', '7', ' ')
    (1 to 20_000).foreach: round =>
      val at = round % seeds.size
      val bytes = seeds(at).clone
      (0 to random.nextInt(8)).foreach: _ =>
        bytes(random.nextInt(bytes.length)) =
          if random.nextBoolean() then extremes(random.nextInt(extremes.length)) else random.nextInt.toByte
      // If the checksum is right again, the changed fields are read.
      zip(if at == 2 then bytes else gzip(if random.nextBoolean() then signed(bytes) else bytes))
    (1 to 5000).foreach: _ =>
      val noise = new Array[Byte](random.nextInt(2000))
      random.nextBytes(noise)
      zip(noise)
      zip(Array[Byte](0x1f, 0x8b.toByte, 8, 0) ++ noise)
      zip(gzip(noise))

  test("a zip may be larger than its tar, within the available memory and the namespace's limit"):
    val noise = new Array[Byte](20_000)
    Random(7).nextBytes(noise)
    val tar = tgz(Vector.tabulate(10)(i => entry(s"f$i", noise))*)
    assert(tar.length < 25_000, tar.length)
    var asked = Vector.empty[Long]
    def packed(most: Long, there: Long) = TarToZip(limits)(
      tar,
      most,
      bytes =>
        asked :+= bytes
        bytes <= there
    )
    val size = packed(most, most).fold(problem => fail(problem.toString), _.length)
    assert(size > 200_000 && asked.last >= size && asked.size < 6, s"$size: $asked")
    assertEquals(packed(100_000, most), Left(RepacksTooLarge(100_000)))
    asked = Vector.empty
    assertEquals(packed(most, 100_000), Left(TarToZip.NoRoom))
    assertEquals(asked.count(_ > 100_000), 1)
