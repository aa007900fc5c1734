package burst.invoker.packages

import java.io.ByteArrayOutputStream
import java.util.zip.{ZipEntry, ZipOutputStream}

/** Packages for tests. */
object Zips:
  val Elf: Array[Byte] = Array[Byte](0x7f, 'E', 'L', 'F', 2, 1, 1, 0)

  def of(entries: (String, Array[Byte])*): Array[Byte] =
    val bytes = ByteArrayOutputStream()
    val zip = ZipOutputStream(bytes)
    entries.foreach: (name, content) =>
      zip.putNextEntry(ZipEntry(name))
      zip.write(content)
      zip.closeEntry()
    zip.close()
    bytes.toByteArray

  /** Incompressible bytes, different for each seed. */
  def noise(size: Int, seed: Int): Array[Byte] =
    val bytes = new Array[Byte](size)
    scala.util.Random(seed).nextBytes(bytes)
    bytes
