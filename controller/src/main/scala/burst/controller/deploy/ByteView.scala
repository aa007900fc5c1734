package burst.controller.deploy

/** Reads little-endian numbers from bytes that may be hostile: anything out of bounds is `None`, never an
  * exception. Offsets are unsigned in the formats read here, so a negative one is simply out of bounds as
  * well.
  */
private[deploy] final class ByteView(bytes: Array[Byte]):
  val length: Long = bytes.length

  def has(offset: Long, size: Long): Boolean =
    offset >= 0 && size >= 0 && offset <= length && size <= length - offset

  def u8(offset: Long): Option[Int] = Option.when(has(offset, 1))(bytes(offset.toInt) & 0xff)
  def u16(offset: Long): Option[Int] = Option.when(has(offset, 2))(number(offset, 2).toInt)
  def u32(offset: Long): Option[Long] = Option.when(has(offset, 4))(number(offset, 4))
  def u64(offset: Long): Option[Long] = Option.when(has(offset, 8))(number(offset, 8))

  /** Returns the zero-terminated string at `offset`, if it ends within `limit` bytes. */
  def cString(offset: Long, limit: Int): Option[String] =
    if !has(offset, 1) then None
    else
      val stop = (offset + limit).min(length)
      var end = offset
      while end < stop && bytes(end.toInt) != 0 do end += 1
      Option.when(end < stop)(ascii(offset, (end - offset).toInt))

  def ascii(offset: Long, size: Int): String =
    String(bytes, offset.toInt, size, java.nio.charset.StandardCharsets.ISO_8859_1)

  def utf8(offset: Long, size: Int): Option[String] =
    Option.when(has(offset, size))(
      String(bytes, offset.toInt, size, java.nio.charset.StandardCharsets.UTF_8)
    )

  def slice(offset: Long, size: Long): Option[Array[Byte]] =
    Option.when(has(offset, size))(java.util.Arrays.copyOfRange(bytes, offset.toInt, (offset + size).toInt))

  private def number(offset: Long, size: Int): Long =
    var value = 0L
    var i = size - 1
    while i >= 0 do
      value = (value << 8) | (bytes((offset + i).toInt) & 0xffL)
      i -= 1
    value
