package burst.controller.json

import burst.protocol.JsonText
import com.fasterxml.jackson.core.{
  JsonFactory,
  JsonParseException,
  JsonParser,
  JsonProcessingException,
  JsonToken,
  StreamReadConstraints,
  StreamReadFeature
}
import io.circe.Json
import org.apache.pekko.util.{ByteString, ByteStringBuilder}
import scala.util.Using

/** Takes JSON documents apart at their outermost level, without building what is inside: the pieces are parts
  * of the same bytes. A document is read from its beginning to its end, so that pieces are JSON, too.
  *
  * @param depth
  *   levels of nesting
  */
final class JsonPieces(depth: Int):
  import JsonPieces.*

  private val factory = JsonFactory
    .builder()
    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
    .streamReadConstraints(
      StreamReadConstraints.builder().maxNestingDepth(
        depth
      ).maxStringLength(Int.MaxValue).maxNameLength(Int.MaxValue).build()
    )
    .build()

  /** The members of an object in their order, at most `most` of them. */
  def members(text: ByteString, most: Int): Either[Problem, Vector[(String, JsonText)]] =
    read(text, JsonToken.START_OBJECT): (parser, bytes) =>
      val found = Vector.newBuilder[(String, JsonText)]
      var count = 0
      while parser.nextToken() == JsonToken.FIELD_NAME && count <= most do
        val name = parser.currentName
        parser.nextToken()
        found += name -> piece(parser, bytes)
        count += 1
      if count > most then Left(Problem.TooMany) else Right(found.result())

  /** An object with those of `defaults` that it does not have itself. What is no object stays as it is. */
  def over(defaults: Vector[(String, JsonText)], text: JsonText): JsonText =
    if defaults.isEmpty || first(text) != '{' then text
    else
      val known = defaults.map(_._1).toSet
      val own = read(text.bytes, JsonToken.START_OBJECT): (parser, _) =>
        var found = Set.empty[String]
        var empty = true
        while parser.nextToken() == JsonToken.FIELD_NAME do
          empty = false
          if known(parser.currentName) then found += parser.currentName
          parser.nextToken()
          parser.skipChildren()
        Right((found, empty))
      own.fold(
        _ => text,
        (names, empty) => prepended(defaults.filterNot((name, _) => names(name)), text, empty)
      )

  private def prepended(members: Vector[(String, JsonText)], text: JsonText, empty: Boolean): JsonText =
    if members.isEmpty then text
    else
      val whole = ByteStringBuilder()
      whole.addOne('{')
      members.zipWithIndex.foreach: (member, index) =>
        if index > 0 then whole.addOne(',')
        whole ++= ByteString(Json.fromString(member._1).noSpaces)
        whole.addOne(':')
        whole ++= member._2.bytes
      if !empty then whole.addOne(',')
      whole ++= text.bytes.drop(text.bytes.indexOf('{'.toByte) + 1)
      JsonText(whole.result())

  /** The elements of an array, at most `most` of them. */
  def elements(text: ByteString, most: Int): Either[Problem, Vector[JsonText]] =
    read(text, JsonToken.START_ARRAY): (parser, bytes) =>
      val found = Vector.newBuilder[JsonText]
      var count = 0
      while parser.nextToken() != JsonToken.END_ARRAY && count <= most do
        found += piece(parser, bytes)
        count += 1
      if count > most then Left(Problem.TooMany) else Right(found.result())

  private def read[A](text: ByteString, start: JsonToken)(
      inside: (JsonParser, ByteString) => Either[Problem, A]
  ): Either[Problem, A] =
    val whole = text.compact
    val array = whole.toArrayUnsafe()
    try
      Using.resource(factory.createParser(array)): parser =>
        if parser.nextToken() != start then
          if parser.currentToken == null then Left(Problem.Malformed) else Left(Problem.OtherType)
        else
          inside(parser, ByteString.fromArrayUnsafe(array)).flatMap: found =>
            if parser.nextToken() == null then Right(found) else Left(Problem.Malformed)
    catch
      case twice: JsonParseException
          if Option(twice.getOriginalMessage).exists(_.startsWith("Duplicate field")) =>
        Left(Problem.Repeated)
      case _: JsonProcessingException => Left(Problem.Malformed)

  /** What the parser stands at, and moves to the end of. */
  private def piece(parser: JsonParser, bytes: ByteString): JsonText =
    val from = parser.currentTokenLocation.getByteOffset.toInt
    parser.skipChildren()
    parser.finishToken()
    JsonText(bytes.slice(from, parser.currentLocation.getByteOffset.toInt))

object JsonPieces:
  enum Problem:
    case Malformed

    /** An object names a member twice. */
    case Repeated
    case OtherType
    case TooMany

  /** Whether a document is an array, an object, or something else: its first character that is no space. */
  def first(text: JsonText): Char =
    text.bytes.iterator.map(byte => (byte & 0xff).toChar).find(!" \t\r\n".contains(_)).getOrElse(' ')
