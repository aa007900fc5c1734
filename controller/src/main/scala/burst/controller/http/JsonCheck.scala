package burst.controller.http

import java.nio.charset.CodingErrorAction
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.{ByteBuffer, CharBuffer}
import org.apache.pekko.util.ByteString

/** The limits on JSON that comes from outside. */
final case class JsonLimits(depth: Int, values: Int, number: Int)

/** Why JSON is refused although it may be valid. */
enum JsonProblem:
  case TooDeep(limit: Int)
  case TooManyValues(limit: Int)
  case LongNumber(limit: Int)
  case NotUtf8
  case ByteOrderMark
  case HalfSurrogate
  case RepeatedField
  case TooManyNames(limit: Int)
  case LongName(limit: Int)

/** Checks JSON before it is parsed, for anything whose cost exceeds its length: code that walks a document
  * recurses, and a few megabytes of brackets would overflow its stack, which ends the whole process; each
  * value becomes several objects in memory; the time to read a number grows with the square of its length;
  * and the names of all open objects are remembered, to find duplicates. It also refuses text that is not
  * valid Unicode, which would change when it is written again. Whether the rest is JSON is the parser's
  * business.
  */
final class JsonCheck private (bytes: Array[Byte], limits: JsonLimits):
  import JsonProblem.*

  private val end = bytes.length
  private var at = 0
  private var depth = 0
  private var values = 1
  private var ascii = true
  private var stringLength = 0
  // The number of names in the open objects, by depth and in all.
  private val namesAt = new Array[Int](limits.depth + 1)
  private var names = 0
  private var problem = Option.empty[JsonProblem]

  private def check(): Option[JsonProblem] =
    if bytes.startsWith(JsonCheck.Mark) then Some(ByteOrderMark)
    else
      while at < end && problem.isEmpty do
        bytes(at) match
          case '"' => string()
          case '[' | '{' =>
            depth += 1
            values += 1
            if depth > limits.depth then problem = Some(TooDeep(limits.depth))
            at += 1
          case ']' | '}' =>
            if depth > 0 then
              names -= namesAt(depth)
              namesAt(depth) = 0
            depth -= 1
            at += 1
          case ':' =>
            name()
            at += 1
          case ',' =>
            values += 1
            at += 1
          case byte if byte == '-' || isDigit(byte) => number()
          case byte =>
            if byte < 0 then ascii = false
            at += 1
        if problem.isEmpty && values > limits.values then problem = Some(TooManyValues(limits.values))
      problem.orElse(Option.unless(ascii || isUtf8)(NotUtf8))

  private def name(): Unit =
    names += 1
    if depth > 0 then namesAt(depth) += 1
    if names > JsonCheck.MostNames then problem = Some(TooManyNames(JsonCheck.MostNames))
    else if stringLength > JsonCheck.LongestName then problem = Some(LongName(JsonCheck.LongestName))

  private def number(): Unit =
    val start = at
    while at < end && ofNumber(bytes(at)) do at += 1
    if at - start > limits.number then problem = Some(LongNumber(limits.number))

  private def string(): Unit =
    val start = at
    at = plain(at + 1)
    while at < end && bytes(at) != '"' && problem.isEmpty do
      val unit = escapedUnit(at)
      if unit < 0 then at += 2
      else if !Character.isSurrogate(unit.toChar) then at += 6
      else
        val next = escapedUnit(at + 6)
        if Character.isHighSurrogate(unit.toChar) && next >= 0 && Character.isLowSurrogate(next.toChar) then
          at += 12
        else problem = Some(HalfSurrogate)
      at = plain(at)
    stringLength = at - start - 1
    at += 1

  /** Returns the index of the next quote or backslash. Most bytes of large documents pass through here: only
    * locals are touched.
    */
  private def plain(from: Int): Int =
    val bytes = this.bytes
    var index = from
    var byte: Byte = 0
    var signs = 0
    while index < bytes.length && { byte = bytes(index); byte != '"' && byte != '\\' } do
      signs |= byte
      index += 1
    if signs < 0 then ascii = false
    index

  /** Returns the 16 bits that `\` and `u` with four digits stand for at an index, or -1 if there is no such
    * escape.
    */
  private def escapedUnit(from: Int): Int =
    if from + 6 > end || bytes(from) != '\\' || bytes(from + 1) != 'u' then -1
    else
      (from + 2 until from + 6).foldLeft(0): (unit, index) =>
        val byte = bytes(index)
        if unit < 0 || byte < 0 then -1
        else
          val digit = Character.digit(byte.toChar, 16)
          if digit < 0 then -1 else unit * 16 + digit

  private def isUtf8: Boolean =
    val decoder =
      UTF_8.newDecoder().onMalformedInput(
        CodingErrorAction.REPORT
      ).onUnmappableCharacter(CodingErrorAction.REPORT)
    val (rest, into) = (ByteBuffer.wrap(bytes), CharBuffer.allocate(8192))
    var result = decoder.decode(rest, into, true)
    while result.isOverflow do
      into.clear()
      result = decoder.decode(rest, into, true)
    !result.isError

  private def isDigit(byte: Byte): Boolean = byte >= '0' && byte <= '9'

  private def ofNumber(byte: Byte): Boolean =
    isDigit(byte) || byte == '-' || byte == '+' || byte == '.' || byte == 'e' || byte == 'E'

object JsonCheck:
  /** The most names remembered at once, at about 100 bytes each. */
  val MostNames = 100_000

  /** The most bytes of a name, as it is written. */
  val LongestName = 4096

  private val Mark = Array(0xef.toByte, 0xbb.toByte, 0xbf.toByte)

  /** Returns why JSON is refused, if it is. Makes no copy if the bytes are in one piece. */
  def problem(bytes: ByteString, limits: JsonLimits): Option[JsonProblem] =
    JsonCheck(bytes.toArrayUnsafe(), limits).check()
