package burst.controller.json

import burst.protocol.JsonText
import com.fasterxml.jackson.core.{
  Base64Variants,
  JsonFactory,
  JsonParseException,
  JsonParser,
  JsonProcessingException,
  JsonToken,
  StreamReadConstraints,
  StreamReadFeature
}
import java.io.OutputStreamWriter
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.util.ByteString
import scala.collection.immutable.BitSet
import scala.util.Using

/** Splits JSON documents at their outermost level, without building what is inside: the pieces are slices of
  * the same bytes. A document is parsed to its end, so that the pieces are valid JSON, too.
  *
  * @param depth
  *   the most levels of nesting
  */
final class JsonPieces(depth: Int):
  import JsonPieces.*

  // A field's name comes from a stranger: it must not stay among this process's interned strings, nor, as
  // each document has a factory of its own, be remembered for the next one. The table of names itself is
  // needed: without it the parser could not report its byte position.
  private val settings = JsonFactory
    .builder()
    .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
    .streamReadConstraints(
      StreamReadConstraints.builder().maxNestingDepth(
        depth
      ).maxStringLength(Int.MaxValue).maxNameLength(Int.MaxValue).build()
    )

  /** Returns the members of an object in their order, at most `most` of them. */
  def members(text: ByteString, most: Int): Either[Problem, Vector[(String, JsonText)]] =
    read(text, JsonToken.START_OBJECT): parser =>
      val found = Vector.newBuilder[(String, JsonText)]
      var count = 0
      while parser.nextToken() == JsonToken.FIELD_NAME && count <= most do
        val name = parser.currentName
        parser.nextToken()
        found += name -> piece(parser, text)
        count += 1
      if count > most then Left(Problem.TooMany) else Right(found.result())

  /** Returns an object with the `defaults` that it does not have itself. Anything but an object stays
    * unchanged.
    */
  def over(defaults: Defaults, text: JsonText): Filled =
    if defaults.isEmpty || first(text) != '{' then Filled.asItIs(text)
    else
      val own = read(text.bytes, JsonToken.START_OBJECT): parser =>
        var found = BitSet.empty
        var empty = true
        while parser.nextToken() == JsonToken.FIELD_NAME do
          empty = false
          defaults.indexOf(parser.currentName).foreach(found += _)
          parser.nextToken()
          parser.skipChildren()
        Right((found, empty))
      own.fold(_ => Filled.asItIs(text), (named, empty) => defaults.under(text, named, empty))

  /** Returns the elements of an array, at most `most` of them. */
  def elements(text: ByteString, most: Int): Either[Problem, Vector[JsonText]] =
    read(text, JsonToken.START_ARRAY): parser =>
      val found = Vector.newBuilder[JsonText]
      var count = 0
      while parser.nextToken() != JsonToken.END_ARRAY && count <= most do
        found += piece(parser, text)
        count += 1
      if count > most then Left(Problem.TooMany) else Right(found.result())

  /** Returns the bytes that a base64 string stands for, at most `most`. */
  def binary(text: JsonText, most: Int): Either[Problem, Array[Byte]] =
    val decoded = BoundedBytes((text.length.toLong * 3 / 4).min(most).toInt)
    val read = Using.resource(settings.build().createParser(text.bytes.asInputStream)): parser =>
      try
        if parser.nextToken() != JsonToken.VALUE_STRING then Left(Problem.OtherType)
        else Right(parser.readBinaryValue(Base64, decoded))
      catch case _: JsonProcessingException | _: IllegalArgumentException => Left(Problem.Malformed)
    read.flatMap(_ => decoded.result.toRight(Problem.TooMany))

  /** Returns the text of a string in UTF-8, at most `most` bytes. */
  def text(text: JsonText, most: Long): Either[Problem, Array[Byte]] =
    // No string is longer than its encoded form.
    val written = BoundedBytes((text.length.toLong).min(most).toInt)
    val read = Using.resource(settings.build().createParser(text.bytes.asInputStream)): parser =>
      try
        if parser.nextToken() != JsonToken.VALUE_STRING then Left(Problem.OtherType)
        else
          val writer = OutputStreamWriter(written, UTF_8)
          parser.getText(writer)
          writer.flush()
          Right(())
      catch case _: JsonProcessingException => Left(Problem.Malformed)
    read.flatMap(_ => written.result.toRight(Problem.TooMany))

  private def read[A](text: ByteString, start: JsonToken)(
      inside: JsonParser => Either[Problem, A]
  ): Either[Problem, A] =
    try
      Using.resource(settings.build().createParser(text.asInputStream)): parser =>
        if parser.nextToken() != start then
          if parser.currentToken == null then Left(Problem.Malformed) else Left(Problem.OtherType)
        else
          inside(parser).flatMap: found =>
            if parser.nextToken() == null then Right(found) else Left(Problem.Malformed)
    catch
      case twice: JsonParseException
          if Option(twice.getOriginalMessage).exists(_.startsWith("Duplicate field")) =>
        Left(Problem.Repeated)
      case _: JsonProcessingException => Left(Problem.Malformed)

  /** Returns the value at the parser's position, and moves the parser to its end. */
  private def piece(parser: JsonParser, bytes: ByteString): JsonText =
    val from = parser.currentTokenLocation.getByteOffset.toInt
    // To find a string's end the parser would decode it; when it skips the string it only checks it.
    if parser.currentToken == JsonToken.VALUE_STRING then
      JsonText(bytes.slice(from, endOfString(bytes, from)))
    else
      parser.skipChildren()
      parser.finishToken()
      JsonText(bytes.slice(from, parser.currentLocation.getByteOffset.toInt))

  private def endOfString(bytes: ByteString, from: Int): Int =
    var at = from + 1
    while at < bytes.length && bytes(at) != '"' do at += (if bytes(at) == '\\' then 2 else 1)
    at + 1

object JsonPieces:
  enum Problem:
    case Malformed

    /** An object names a member twice. */
    case Repeated
    case OtherType
    case TooMany

  private val Base64 = Base64Variants.MIME_NO_LINEFEEDS.withPaddingAllowed()

  /** Returns a document's first character that is not a space, which shows whether it is an array, an object,
    * or something else.
    */
  def first(text: JsonText): Char =
    text.bytes.iterator.map(byte => (byte & 0xff).toChar).find(!" \t\r\n".contains(_)).getOrElse(' ')
