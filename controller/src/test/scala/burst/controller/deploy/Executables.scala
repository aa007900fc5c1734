package burst.controller.deploy

import java.io.ByteArrayOutputStream
import java.nio.ByteOrder.LITTLE_ENDIAN
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.zip.{ZipEntry, ZipOutputStream}

/** Makes packages for tests: ELF files with only the parts that are read, and zips. */
object Executables:
  private val Base = 0x400000L

  /** A dynamic executable whose version needs name `versions`, or a static one if there are none. */
  def elf(
      versions: Seq[String] = Seq("GLIBC_2.2.5", "GLIBC_2.34"),
      machine: Int = 62,
      kind: Int = 3,
      loader: String = "/lib64/ld-linux-x86-64.so.2"
  ): Array[Byte] =
    val segments = if versions.isEmpty then 1 else 3
    val headers = 64 + segments * 56
    val strings = "\u0000libc.so.6\u0000" + versions.map(_ + "\u0000").mkString
    val interpreterAt = headers
    val stringsAt = interpreterAt + loader.length + 1
    val needsAt = stringsAt + strings.length
    val dynamicAt = needsAt + 16 + 16 * versions.size
    val size = dynamicAt + 16 * 4
    val out = ByteBuffer.allocate(size).order(LITTLE_ENDIAN)
    out.putInt(0x464c457f).put(2.toByte).put(1.toByte).put(1.toByte).position(16)
    out.putShort(kind.toShort).putShort(machine.toShort).putInt(1).putLong(Base).putLong(64).putLong(0)
    out.putInt(0).putShort(64).putShort(56).putShort(segments.toShort).position(64)
    def segment(kind: Int, at: Int, length: Int): Unit =
      out.putInt(kind).putInt(4).putLong(at).putLong(Base + at).putLong(Base + at)
      out.putLong(length).putLong(length).putLong(8)
    segment(1, 0, size)
    if versions.nonEmpty then
      segment(2, dynamicAt, 64)
      segment(3, interpreterAt, loader.length + 1)
      out.put((loader + "\u0000" + strings).getBytes(ISO_8859_1))
      out.putShort(1).putShort(versions.size.toShort).putInt(1).putInt(16).putInt(0)
      versions.zipWithIndex.foreach: (version, i) =>
        out.putInt(0).putShort(0).putShort(2).putInt(strings.indexOf(version + "\u0000"))
        out.putInt(if i == versions.size - 1 then 0 else 16)
      Seq(5L -> (Base + stringsAt), 0x6ffffffeL -> (Base + needsAt), 0x6fffffffL -> 1L, 0L -> 0L).foreach:
        (tag, value) => out.putLong(tag).putLong(value)
    out.array

  def zip(entries: (String, Array[Byte])*): Array[Byte] =
    val bytes = ByteArrayOutputStream()
    val out = ZipOutputStream(bytes)
    entries.foreach: (path, content) =>
      out.putNextEntry(ZipEntry(path))
      out.write(content)
      out.closeEntry()
    out.close()
    bytes.toByteArray

  /** Returns the zip with a number written at an offset from its only or first directory record. */
  def patched(zip: Array[Byte], offset: Int, size: Int, value: Long): Array[Byte] =
    val copy = zip.clone
    val at = directoryAt(copy) + offset
    (0 until size).foreach(i => copy(at + i) = (value >> (8 * i)).toByte)
    copy

  private def directoryAt(zip: Array[Byte]): Int =
    ByteBuffer.wrap(zip).order(LITTLE_ENDIAN).getInt(zip.length - 22 + 16)
