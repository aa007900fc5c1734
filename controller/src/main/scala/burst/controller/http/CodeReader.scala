package burst.controller.http

import burst.controller.json.JsonPieces
import burst.controller.json.JsonPieces.Problem
import burst.protocol.JsonText
import java.nio.ByteBuffer
import java.util.Base64

/** A program as it was sent: source text, or a file in base64.
  *
  * @param binary
  *   whether it was base64
  */
final case class Code(bytes: Array[Byte], binary: Boolean)

/** Reads programs as OpenWhisk does. Its clients do not state the encoding: whatever looks like base64 is
  * base64.
  */
final class CodeReader(pieces: JsonPieces):
  import ApiError.*
  import CodeReader.*

  def read(code: JsonText, limit: Long): Either[ApiError, Code] =
    val text = code.bytes.asByteBuffer
    val most = limit.min(Int.MaxValue - 16).toInt
    if JsonPieces.first(code) != '"' then Left(WrongType(Field, "a string"))
    // Decided by the length of the text, before anything is allocated for its content.
    else if text.remaining.toLong * 3 / 4 > limit * 2 then Left(PackageTooLarge(text.remaining.toLong, limit))
    else if looksLikeBase64(text, text.position + 1, text.limit - 1) then
      // Apart from surrounding spaces, this allocates no more bytes than the content has.
      pieces.binary(code, most).left.map(refusal(_, text, limit)).map(Code(_, binary = true))
    else
      pieces.text(code, most.toLong * 4 / 3 + 4).left.map(refusal(_, text, limit)).flatMap: bytes =>
        val whole = ByteBuffer.wrap(bytes)
        val read =
          if looksLikeBase64(whole, 0, bytes.length) then
            Code(Base64.getDecoder.decode(String(bytes, "ISO-8859-1").trim), binary = true)
          else Code(bytes, binary = false)
        Either.cond(read.bytes.length <= limit, read, PackageTooLarge(read.bytes.length, limit))

  private def refusal(problem: Problem, text: ByteBuffer, limit: Long): ApiError = problem match
    case Problem.OtherType => WrongType(Field, "a string")
    case Problem.TooMany => PackageTooLarge(text.remaining.toLong * 3 / 4, limit)
    case _ => WrongType(Field, "a string of source, or base64")

object CodeReader:
  private val Field = "exec.code"

  /** Whether the text is one or more groups of four base64 characters, with padding in the last; surrounding
    * spaces are ignored.
    */
  private def looksLikeBase64(text: ByteBuffer, from: Int, until: Int): Boolean =
    var (start, end) = (from, until)
    while start < end && isSpace(text.get(start)) do start += 1
    while end > start && isSpace(text.get(end - 1)) do end -= 1
    val length = end - start
    if length == 0 || length % 4 != 0 then false
    else
      var filled = 0
      while filled < 2 && text.get(end - 1 - filled) == '=' do filled += 1
      var at = start
      while at < end - filled && isDigit(text.get(at)) do at += 1
      at == end - filled

  private def isSpace(byte: Byte): Boolean = byte >= 0 && byte <= ' '

  private def isDigit(byte: Byte): Boolean =
    (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
      byte == '+' || byte == '/'
