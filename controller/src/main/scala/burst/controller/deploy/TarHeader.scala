package burst.controller.deploy

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}

/** The header of a tar entry.
  *
  * @param kind
  *   the type flag: '0' a file, '5' a directory, 'x' attributes of the next entry, …
  */
private[deploy] final case class TarHeader(path: String, size: Long, kind: Char)

private[deploy] object TarHeader:
  /** The size of a header; contents are padded to a multiple of it. */
  val BlockSize = 512

  /** Reads a header; returns none if the block is not a valid one. */
  def read(block: Array[Byte]): Option[TarHeader] =
    for
      checksum <- octal(block, ChecksumAt, ChecksumSize)
      if checksum == sum(block)
      size <- number(block, 124, 12)
      name = text(block, 0, 100)
      // GNU's own format has times in that place.
      prefix = if String(block, 257, 6, ISO_8859_1) == Posix then text(block, 345, 155) else ""
    yield TarHeader(if prefix.isEmpty then name else s"$prefix/$name", size, (block(156) & 0xff).toChar)

  /** Returns the text up to a zero byte, if there is one. */
  def text(bytes: Array[Byte], at: Int, most: Int): String =
    val end = bytes.indexOf(0.toByte, at)
    String(bytes, at, if end < 0 then most else most.min(end - at), UTF_8)

  /** Sums up all of the block's bytes, counting those of the checksum as spaces. */
  private def sum(block: Array[Byte]): Long =
    var sum = 0L
    var at = 0
    while at < BlockSize do
      val isSum = at >= ChecksumAt && at < ChecksumAt + ChecksumSize
      sum += (if isSum then ' '.toInt else block(at) & 0xff)
      at += 1
    sum

  /** Reads a number. One that does not fit into eleven octal digits is in base 256, marked by the first bit.
    */
  private def number(block: Array[Byte], at: Int, size: Int): Option[Long] =
    if block(at) >= 0 then octal(block, at, size)
    else
      val digits = block.slice(at, at + size)
      digits(0) = (digits(0) & 0x7f).toByte
      val value = BigInt(1, digits)
      Option.when(value.isValidLong)(value.toLong)

  private def octal(block: Array[Byte], at: Int, size: Int): Option[Long] =
    val digits = String(block, at, size, ISO_8859_1).takeWhile(_ != '\u0000').trim
    if digits.isEmpty then Some(0)
    else Option.when(digits.forall(c => c >= '0' && c <= '7'))(java.lang.Long.parseLong(digits, 8))

  private val Posix = "ustar\u0000"
  private val ChecksumAt = 148
  private val ChecksumSize = 8
