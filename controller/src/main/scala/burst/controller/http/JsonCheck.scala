package burst.controller.http

import java.nio.ByteBuffer
import java.nio.CharBuffer
import java.nio.charset.CodingErrorAction
import java.nio.charset.StandardCharsets.UTF_8

/** What JSON may be like that comes from outside. */
final case class JsonLimits(depth: Int, values: Int, number: Int)

/** Why JSON is refused though it may be valid. */
enum JsonProblem:
  case TooDeep(limit: Int)
  case TooManyValues(limit: Int)
  case LongNumber(limit: Int)
  case NotUtf8
  case ByteOrderMark
  case HalfSurrogate
  case RepeatedField

/** Looks JSON over before it is parsed, for what costs more than its length once it is parsed: what walks a
  * document recurses, and a few megabytes of brackets would overflow its stack, which ends the whole process;
  * each value is some objects in memory; the time to read a number grows with the square of its length. And
  * for what is no text, which would be something else when it is written again. Whether it is JSON is the
  * parser's business.
  */
final class JsonCheck private (bytes: ByteBuffer, limits: JsonLimits):
  import JsonProblem.*

  private val end = bytes.limit()
  private var at = bytes.position()
  private var depth = 0
  private var values = 1
  private var problem = Option.empty[JsonProblem]

  private def look(): Option[JsonProblem] =
    if end - at >= 3 && bytes.get(at) == -17 && bytes.get(at + 1) == -69 && bytes.get(at + 2) == -65 then
      Some(ByteOrderMark)
    else
      while at < end && problem.isEmpty do
        bytes.get(at) match
          case '"' => string()
          case '[' | '{' =>
            depth += 1
            values += 1
            if depth > limits.depth then problem = Some(TooDeep(limits.depth))
            at += 1
          case ']' | '}' =>
            depth -= 1
            at += 1
          case ',' =>
            values += 1
            at += 1
          case byte if byte == '-' || isDigit(byte) => number()
          case _ => at += 1
        if problem.isEmpty && values > limits.values then problem = Some(TooManyValues(limits.values))
      problem.orElse(Option.unless(isUtf8)(NotUtf8))

  private def number(): Unit =
    val start = at
    while at < end && ofNumber(bytes.get(at)) do at += 1
    if at - start > limits.number then problem = Some(LongNumber(limits.number))

  private def string(): Unit =
    at += 1
    while at < end && problem.isEmpty && bytes.get(at) != '"' do
      if bytes.get(at) != '\\' then at += 1
      else
        val unit = escapedUnit(at)
        if unit < 0 then at += 2
        else if !Character.isSurrogate(unit.toChar) then at += 6
        else
          val next = escapedUnit(at + 6)
          if Character.isHighSurrogate(unit.toChar) && next >= 0 && Character.isLowSurrogate(next.toChar) then
            at += 12
          else problem = Some(HalfSurrogate)
    at += 1

  /** The 16 bits that `\` and `u` with four digits stand for at a place, or -1 where they do not stand. */
  private def escapedUnit(from: Int): Int =
    if from + 6 > end || bytes.get(from) != '\\' || bytes.get(from + 1) != 'u' then -1
    else
      (from + 2 until from + 6).foldLeft(0): (unit, place) =>
        val byte = bytes.get(place)
        if unit < 0 || byte < 0 then -1
        else
          val digit = Character.digit(byte.toChar, 16)
          if digit < 0 then -1 else unit * 16 + digit

  private def isUtf8: Boolean =
    val decoder =
      UTF_8.newDecoder().onMalformedInput(
        CodingErrorAction.REPORT
      ).onUnmappableCharacter(CodingErrorAction.REPORT)
    val (rest, into) = (bytes.duplicate(), CharBuffer.allocate(8192))
    var result = decoder.decode(rest, into, true)
    while result.isOverflow do
      into.clear()
      result = decoder.decode(rest, into, true)
    !result.isError

  private def isDigit(byte: Byte): Boolean = byte >= '0' && byte <= '9'

  private def ofNumber(byte: Byte): Boolean =
    isDigit(byte) || byte == '-' || byte == '+' || byte == '.' || byte == 'e' || byte == 'E'

object JsonCheck:
  def problem(bytes: ByteBuffer, limits: JsonLimits): Option[JsonProblem] =
    JsonCheck(bytes.duplicate(), limits).look()
