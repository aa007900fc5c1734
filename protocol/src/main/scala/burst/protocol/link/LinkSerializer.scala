package burst.protocol.link

import io.circe.derivation.{Configuration, ConfiguredCodec}
import io.circe.jawn.decodeByteArray
import io.circe.syntax.*
import io.circe.{Codec, Decoder, Encoder}
import java.io.NotSerializableException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64
import org.apache.pekko.actor.ExtendedActorSystem
import org.apache.pekko.actor.typed.scaladsl.adapter.ClassicActorSystemOps
import org.apache.pekko.actor.typed.{ActorRef, ActorRefResolver}
import org.apache.pekko.serialization.SerializerWithStringManifest
import org.apache.pekko.util.ByteString

/** Link messages as JSON. The manifest is the kind of message; what does not decode is refused by name only,
  * as it may hold a user's data.
  */
final class LinkSerializer(system: ExtendedActorSystem) extends SerializerWithStringManifest:
  import LinkSerializer.*

  private val codecs = Codecs(ActorRefResolver(system.toTyped))
  import codecs.given

  val identifier: Int = 7301

  def manifest(message: AnyRef): String = message match
    case _: Hello => "hello"
    case _: ToInvoker => "to-invoker"
    case _: ToSession => "to-session"
    case _: Order => "order"
    case _: News => "news"
    case other => throw NotSerializableException(other.getClass.getName)

  def toBinary(message: AnyRef): Array[Byte] =
    val json = message match
      case hello: Hello => hello.asJson
      case message: ToInvoker => message.asJson
      case message: ToSession => message.asJson
      case order: Order => order.asJson
      case news: News => news.asJson
      case other => throw NotSerializableException(other.getClass.getName)
    json.noSpaces.getBytes(UTF_8)

  def fromBinary(bytes: Array[Byte], manifest: String): AnyRef = manifest match
    case "hello" => decode[Hello](bytes, manifest)
    case "to-invoker" => decode[ToInvoker](bytes, manifest)
    case "to-session" => decode[ToSession](bytes, manifest)
    case "order" => decode[Order](bytes, manifest)
    case "news" => decode[News](bytes, manifest)
    case other => throw NotSerializableException(s"a message of the unknown kind '$other'")

object LinkSerializer:
  private def decode[A: Decoder](bytes: Array[Byte], kind: String): A =
    decodeByteArray[A](bytes).fold(
      _ => throw NotSerializableException(s"a damaged message '$kind'"),
      identity
    )

  private final class Codecs(refs: ActorRefResolver):
    private given Configuration =
      Configuration.default.withDiscriminator("type").withKebabCaseConstructorNames

    private given [A]: Codec[ActorRef[A]] = Codec.from(
      Decoder.decodeString.emapTry(path => scala.util.Try(refs.resolveActorRef[A](path))),
      Encoder.encodeString.contramap(refs.toSerializationFormat)
    )

    private given Codec[ByteString] = Codec.from(
      Decoder.decodeString.emapTry(text =>
        scala.util.Try(ByteString.fromArrayUnsafe(Base64.getDecoder.decode(text)))
      ),
      Encoder.encodeString.contramap(bytes => Base64.getEncoder.encodeToString(bytes.toArrayUnsafe()))
    )

    given Codec[Hello] = ConfiguredCodec.derived
    given Codec[ToInvoker] = ConfiguredCodec.derived
    given Codec[ToSession] = ConfiguredCodec.derived
    given Codec[Order] = ConfiguredCodec.derived
    given Codec[News] = ConfiguredCodec.derived
