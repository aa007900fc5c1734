package burst.protocol

import com.github.plokhotnyuk.jsoniter_scala.core.{
  JsonKeyCodec,
  JsonReader,
  JsonValueCodec,
  JsonWriter,
  ReaderConfig
}
import com.github.plokhotnyuk.jsoniter_scala.macros.{CodecMakerConfig, JsonCodecMaker}
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.FiniteDuration

/** How messages that are sent hundreds of times per second are written and read as JSON: by code that the
  * compiler generates for each type (docs/adr/0095). The form is that of circe's derivation, used for other
  * messages, except that fields without a value are left out; when reading, such fields and unknown ones are
  * accepted.
  *
  * These are the parts that all such messages are made of. Codecs are made where the messages are defined:
  * `make(config)`.
  */
object MessageCodecs:
  /** For reading a whole message: its length was checked on arrival, and errors do not show its content. */
  val Whole: ReaderConfig =
    ReaderConfig.withMaxCharBufSize(Int.MaxValue / 2).withAppendHexDumpToParseException(false)

  /** Distinguishes cases by their `type`. The size of collections is bounded where they enter the platform.
    */
  inline def config: CodecMakerConfig = CodecMakerConfig
    .withDiscriminatorFieldName(Some("type"))
    .withRequireDiscriminatorFirst(false)
    .withTransientDefault(false)
    .withTransientEmpty(false)
    .withRequireCollectionFields(true)
    .withMapMaxInsertNumber(Int.MaxValue)
    .withSetMaxInsertNumber(Int.MaxValue)

  inline def kebabCased: CodecMakerConfig = config.withAdtLeafClassNameMapper: name =>
    JsonCodecMaker.`enforce-kebab-case`(JsonCodecMaker.simpleClassName(name))

  /** For enums whose cases have no fields: by their names alone. */
  inline def enumerated: CodecMakerConfig = kebabCased.withDiscriminatorFieldName(None)

  /** Written as another type. */
  final class As[A, B](as: JsonValueCodec[A], to: A => B, from: B => A) extends JsonValueCodec[B]:
    def decodeValue(in: JsonReader, default: B): B = to(as.decodeValue(in, as.nullValue))
    def encodeValue(value: B, out: JsonWriter): Unit = as.encodeValue(from(value), out)
    // For a type that null does not stand for, null is rejected.
    def nullValue: B = null.asInstanceOf[B]

  /** A vector of a type that contains vectors of itself, for which the compiler generates no code. */
  final class Nested[A](one: => JsonValueCodec[A]) extends JsonValueCodec[Vector[A]]:
    def decodeValue(in: JsonReader, default: Vector[A]): Vector[A] =
      if !in.isNextToken('[') then in.decodeError("not several")
      val all = Vector.newBuilder[A]
      if !in.isNextToken(']') then
        in.rollbackToken()
        while
          all += one.decodeValue(in, one.nullValue)
          in.isNextToken(',')
        do ()
        if !in.isCurrentToken(']') then in.arrayEndOrCommaError()
      all.result()
    def encodeValue(value: Vector[A], out: JsonWriter): Unit =
      out.writeArrayStart()
      value.foreach(one.encodeValue(_, out))
      out.writeArrayEnd()
    def nullValue: Vector[A] = null

  /** Written as a string that has to parse. */
  final class Text[A](parse: String => Option[A], text: A => String) extends JsonValueCodec[A]:
    def decodeValue(in: JsonReader, default: A): A =
      val read = in.readString(null)
      Option(read).flatMap(parse).getOrElse(in.decodeError("a text of another form"))
    def encodeValue(value: A, out: JsonWriter): Unit = out.writeVal(wellFormed(text(value)))
    def nullValue: A = null.asInstanceOf[A]

  given JsonValueCodec[String] = new JsonValueCodec[String]:
    def decodeValue(in: JsonReader, default: String): String = in.readString(default)
    def encodeValue(value: String, out: JsonWriter): Unit = out.writeVal(wellFormed(value))
    def nullValue: String = null

  given JsonKeyCodec[String] = new JsonKeyCodec[String]:
    def decodeKey(in: JsonReader): String = in.readKeyAsString()
    def encodeKey(name: String, out: JsonWriter): Unit = out.writeKey(wellFormed(name))

  /** Half of a surrogate pair cannot be written: a replacement character is, as wherever text becomes bytes.
    */
  private def wellFormed(text: String): String =
    if !text.exists(Character.isSurrogate) then text else String(text.getBytes(UTF_8), UTF_8)

  private val bytes: JsonValueCodec[ByteString] = new JsonValueCodec[ByteString]:
    def decodeValue(in: JsonReader, default: ByteString): ByteString =
      ByteString.fromArrayUnsafe(in.readBase64AsBytes(null))
    def encodeValue(value: ByteString, out: JsonWriter): Unit =
      out.writeBase64Val(value.toArrayUnsafe(), true)
    def nullValue: ByteString = null
  given JsonValueCodec[ByteString] = bytes

  given JsonValueCodec[FlareId] = Text(FlareId.parse, _.value)
  given JsonValueCodec[PackageId] = Text(PackageId.parse, _.value)
  given JsonValueCodec[InvokerId] = Text(text => Some(InvokerId(text)), _.value)
  given JsonValueCodec[PackId] = As(JsonCodecMaker.make[Int](config), PackId(_), identity)
  given JsonValueCodec[TraceContext] = Text(TraceContext.parse, _.traceparent)
  given JsonValueCodec[Secret] = Text(text => Some(Secret(text)), _.hex)
  given JsonValueCodec[JsonText] = As(bytes, JsonText(_), _.bytes)
  given JsonValueCodec[Environment] =
    As(JsonCodecMaker.make[Map[String, String]](config), Environment(_), _.variables)
  given JsonValueCodec[FailureKind] = JsonCodecMaker.make(enumerated)
  given JsonValueCodec[PackStart] = JsonCodecMaker.make(enumerated)
  given JsonValueCodec[LogStream] = JsonCodecMaker.make(enumerated)
  given JsonValueCodec[GroupRole] =
    given JsonValueCodec[FiniteDuration] = Durations.oftenInMillis
    JsonCodecMaker.make(kebabCased.withDiscriminatorFieldName(Some("role")))

  /** Distinguished by which of the fields is present. */
  given JsonValueCodec[Inputs] =
    final case class Fields(each: Option[Vector[JsonText]], shared: Option[JsonText], kept: Option[Long])
    val fields = JsonCodecMaker.make[Fields](config)
    new JsonValueCodec[Inputs]:
      def decodeValue(in: JsonReader, default: Inputs): Inputs =
        val read = fields.decodeValue(in, fields.nullValue)
        Option(read)
          .flatMap: read =>
            (read.each.map(Inputs.Each(_)) orElse read.shared.map(Inputs.Shared(_)))
              .orElse(read.kept.map(Inputs.OutOfLine(_)))
          .getOrElse(in.decodeError("no inputs"))
      def encodeValue(value: Inputs, out: JsonWriter): Unit = fields.encodeValue(
        value match
          case Inputs.Each(values) => Fields(Some(values), None, None)
          case Inputs.Shared(value) => Fields(None, Some(value), None)
          case Inputs.OutOfLine(size) => Fields(None, None, Some(size))
        ,
        out
      )
      def nullValue: Inputs = null

  given JsonValueCodec[PackEvent] =
    JsonCodecMaker.make(kebabCased.withDiscriminatorFieldName(Some("event")))
  given JsonValueCodec[RuntimeRefusal] = JsonCodecMaker.make(config)
