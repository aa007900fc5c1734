package burst.controller.deploy

import java.io.{EOFException, InputStream}
import java.util.zip.{CRC32, DataFormatException, Inflater, ZipException}

/** The content of a gzip of one member; it ends only once its integrity is verified.
  *
  * `GZIPInputStream` is unsuitable for hostile bytes: it recurses for each empty member, and millions of them
  * fit into a package.
  */
private[deploy] final class GzipStream(bytes: Array[Byte]) extends InputStream:
  import GzipStream.*

  private val view = ByteView(bytes)
  private val start = afterHeader().getOrElse(throw EOFException())
  private val crc = CRC32()
  private val inflater = Inflater(true)
  inflater.setInput(bytes, start, bytes.length - start)

  override def read(): Int =
    val one = new Array[Byte](1)
    if read(one, 0, 1) < 0 then -1 else one(0) & 0xff

  override def read(into: Array[Byte], offset: Int, size: Int): Int =
    val n =
      try inflater.inflate(into, offset, size)
      catch case _: DataFormatException => throw ZipException()
    if n > 0 || size == 0 then
      crc.update(into, offset, n)
      n
    else if inflater.finished then
      prove()
      -1
    // It could only continue with a preset dictionary, which nobody has.
    else if inflater.needsDictionary then throw ZipException()
    else throw EOFException()

  override def close(): Unit = inflater.end()

  private def prove(): Unit =
    val end = start + inflater.getBytesRead
    if !view.has(end, TrailerSize) then throw EOFException()
    val sums = view.u32(end).contains(crc.getValue) &&
      view.u32(end + 4).contains(inflater.getBytesWritten & 0xffffffffL)
    // Other programs would unpack a second member as well.
    if !sums || end + TrailerSize != view.length then throw ZipException()

  private def afterHeader(): Option[Int] =
    for
      method <- view.u8(2)
      flags <- view.u8(3)
      _ = if method != Deflate || (flags & Reserved) != 0 then throw ZipException()
      extra <- if (flags & Extra) == 0 then Some(HeaderSize) else view.u16(HeaderSize).map(HeaderSize + 2 + _)
      name <- if (flags & Name) == 0 then Some(extra) else afterText(extra)
      comment <- if (flags & Comment) == 0 then Some(name) else afterText(name)
      content = if (flags & Checked) == 0 then comment else comment + 2
      if view.has(content, 0)
    yield content

  private def afterText(at: Int): Option[Int] =
    view.cString(at, TextLimit).map(at + _.length + 1)

private[deploy] object GzipStream:
  private val Magic = 0x8b1f

  def isGzip(bytes: Array[Byte]): Boolean = ByteView(bytes).u16(0).contains(Magic)

  private val HeaderSize = 10
  private val TrailerSize = 8
  private val Deflate = 8
  private val Checked = 2
  private val Extra = 4
  private val Name = 8
  private val Comment = 16
  private val Reserved = 0xe0

  /** The most bytes of the name and of the comment in its header. */
  private val TextLimit = 4096
