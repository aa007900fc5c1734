package burst.controller.deploy

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.util.Comparator
import java.util.zip.{GZIPOutputStream, ZipInputStream}
import scala.util.Using

/** Makes tars for tests, by hand and by the machine's `tar`. */
object Tars:
  /** A header, and the content padded to whole blocks. The declared size may be another one. */
  def entry(
      path: String,
      content: Array[Byte] = Array.empty,
      kind: Char = '0',
      size: Option[Array[Byte]] = None,
      prefix: String = "",
      magic: String = "ustar\u000000"
  ): Array[Byte] =
    val header = new Array[Byte](512)
    def put(at: Int, bytes: Array[Byte]): Unit = System.arraycopy(bytes, 0, header, at, bytes.length)
    put(0, path.getBytes(UTF_8).take(100))
    put(100, "0000644".getBytes)
    put(124, size.getOrElse(f"${content.length.toOctalString}%11s".replace(' ', '0').getBytes))
    put(156, Array(kind.toByte))
    put(257, magic.getBytes)
    put(345, prefix.getBytes)
    signed(header ++ content ++ new Array[Byte]((512 - content.length % 512) % 512))

  /** Returns the entry with the checksum of its header filled in. */
  def signed(entry: Array[Byte]): Array[Byte] =
    val spaces = entry.clone
    (148 until 156).foreach(spaces(_) = ' ')
    val sum = spaces.take(512).map(_ & 0xff).sum
    f"$sum%06o\u0000 ".getBytes.zipWithIndex.foreach((byte, i) => spaces(148 + i) = byte)
    spaces

  /** An entry of POSIX's format whose records describe the next entry. */
  def pax(records: (String, String)*): Array[Byte] =
    val text = records.map: (name, value) =>
      val rest = s" $name=$value\n".getBytes(UTF_8).length
      val length = Iterator.from(rest).find(n => n == n.toString.length + rest).get
      s"$length $name=$value\n"
    entry("PaxHeader/x", text.mkString.getBytes(UTF_8), 'x')

  /** The entries, followed by the blocks that end a tar. */
  def ended(entries: Array[Byte]*): Array[Byte] = entries.flatten.toArray ++ new Array[Byte](1024)

  def tgz(entries: Array[Byte]*): Array[Byte] = gzip(ended(entries*))

  def gzip(bytes: Array[Byte]): Array[Byte] =
    val packed = ByteArrayOutputStream()
    Using.resource(GZIPOutputStream(packed))(_.write(bytes))
    packed.toByteArray

  /** Writes files to a directory and returns the output of `tar`, run there with these arguments. */
  def made(files: (String, String)*)(arguments: String*): Array[Byte] =
    val directory = Files.createTempDirectory("burst-tar")
    try
      files.foreach: (path, text) =>
        Files.createDirectories(directory.resolve(path).getParent)
        Files.writeString(directory.resolve(path), text)
      val process = ProcessBuilder(("tar" +: arguments)*)
        .directory(directory.toFile)
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start()
      val bytes = process.getInputStream.readAllBytes()
      if process.waitFor() != 0 then throw AssertionError("tar failed")
      bytes
    finally Files.walk(directory).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))

  /** The paths and contents of a zip, as the JDK reads them. */
  def unzipped(zip: Array[Byte]): Vector[(String, String)] =
    Using.resource(ZipInputStream(ByteArrayInputStream(zip))): in =>
      Iterator
        .continually(in.getNextEntry)
        .takeWhile(_ != null)
        .map(entry => entry.getName -> String(in.readAllBytes(), UTF_8))
        .toVector
