package burst.protocol

import com.github.plokhotnyuk.jsoniter_scala.core.{
  readFromArray,
  writeToArray,
  JsonReaderException,
  JsonValueCodec
}
import io.circe.derivation.renaming.kebabCase
import io.circe.derivation.{Configuration, ConfiguredCodec}
import io.circe.jawn.decodeByteArray
import io.circe.{Codec, Decoder, DecodingFailure, Encoder, ParsingFailure}
import java.io.NotSerializableException
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.actor.ExtendedActorSystem
import org.apache.pekko.actor.typed.scaladsl.adapter.ClassicActorSystemOps
import org.apache.pekko.actor.typed.{ActorRef, ActorRefResolver}
import org.apache.pekko.serialization.SerializerWithStringManifest
import scala.compiletime.{constValue, erasedValue, summonFrom, summonInline}
import scala.deriving.Mirror
import scala.reflect.ClassTag
import scala.util.Try

/** Writes messages between nodes as JSON, by a table of their kinds. An error for a message that does not
  * decode names its kind and the field, or the byte, at fault; the message is not shown, since it may hold a
  * user's data.
  */
abstract class JsonSerializer(val identifier: Int, system: ExtendedActorSystem)
    extends SerializerWithStringManifest:
  import JsonSerializer.Kind

  private val refs = ActorRefResolver(system.toTyped)

  protected given [A]: Codec[ActorRef[A]] = Codec.from(
    Decoder.decodeString.emapTry(path => Try(refs.resolveActorRef[A](path))),
    Encoder.encodeString.contramap(refs.toSerializationFormat)
  )

  protected given [A]: JsonValueCodec[ActorRef[A]] =
    MessageCodecs.Text(path => Try(refs.resolveActorRef[A](path)).toOption, refs.toSerializationFormat(_))

  /** The kinds of messages; a message is of the first kind that it fits. */
  protected def kinds: Vector[Kind[?]]

  def manifest(message: AnyRef): String = kindOf(message).name

  def toBinary(message: AnyRef): Array[Byte] = kindOf(message).write(message)

  def fromBinary(bytes: Array[Byte], manifest: String): AnyRef = kinds.find(_.name == manifest) match
    case Some(kind) => kind.read(bytes)
    case None =>
      throw NotSerializableException(
        s"a message of the kind '$manifest', unknown to ${Protocol.Nodes} of the protocol between nodes"
      )

  private def kindOf(message: AnyRef): Kind[?] =
    kinds.find(_.fits(message)).getOrElse(throw NotSerializableException(message.getClass.getName))

object JsonSerializer:
  /** Messages of one class, by their name on the wire. */
  abstract class Kind[A <: AnyRef](val name: String)(using of: ClassTag[A]):
    protected def encode(message: A): Array[Byte]
    protected def decode(bytes: Array[Byte]): A

    private[JsonSerializer] def fits(message: AnyRef): Boolean = of.runtimeClass.isInstance(message)

    private[JsonSerializer] def write(message: AnyRef): Array[Byte] = message match
      case of(message) => encode(message)
      case other => throw NotSerializableException(other.getClass.getName)

    private[JsonSerializer] def read(bytes: Array[Byte]): A = decode(bytes)

    protected def damaged(where: String): Nothing =
      throw NotSerializableException(s"a damaged message '$name', at $where")

  object Kind:
    /** The kinds of all messages of a sealed type, in the order of their definitions. A message whose kind is
      * not given is infrequent: its codec is derived, and its name is that of its class and the version of
      * the protocol since which it has had its format.
      */
    inline def ofEach[A](since: Int)(using of: Mirror.SumOf[A]): Vector[Kind[?]] =
      ofAll[of.MirroredElemTypes, of.MirroredElemLabels](since)

    private inline def ofAll[Messages <: Tuple, Names <: Tuple](since: Int): Vector[Kind[?]] =
      inline (erasedValue[Messages], erasedValue[Names]) match
        case _: ((message *: messages), (name *: names)) =>
          ofOne[message & AnyRef](constValue[name & String], since) +: ofAll[messages, names](since)
        case _ => Vector.empty

    private inline def ofOne[A <: AnyRef](name: String, since: Int): Kind[?] =
      summonFrom:
        case own: Kind[A] => own
        case _ =>
          val codec =
            ConfiguredCodec.derived[A](using summonInline[Configuration], summonInline[Mirror.Of[A]])
          Kind(s"${kebabCase(name)}/$since", codec)(using summonInline[ClassTag[A]])

    /** For infrequent messages. */
    def apply[A <: AnyRef: ClassTag](called: String, codec: Codec[A]): Kind[A] = new Kind[A](called):
      protected def encode(message: A): Array[Byte] = codec(message).noSpaces.getBytes(UTF_8)

      protected def decode(bytes: Array[Byte]): A = decodeByteArray(bytes)(using codec) match
        case Right(message) => message
        case Left(_: ParsingFailure) => throw NotSerializableException(s"a message '$name' that is no JSON")
        case Left(failure: DecodingFailure) =>
          damaged(failure.pathToRootString.filter(_.nonEmpty).getOrElse("its beginning"))

    /** For frequent messages. */
    def often[A <: AnyRef: ClassTag](called: String, codec: JsonValueCodec[A]): Kind[A] = new Kind[A](called):
      protected def encode(message: A): Array[Byte] = writeToArray(message)(using codec)

      protected def decode(bytes: Array[Byte]): A =
        try readFromArray(bytes, MessageCodecs.Whole)(using codec)
        catch case wrong: JsonReaderException => damaged(whereOf(wrong))

  /** The only part of the reason that is shown, since the rest may quote the message. */
  private def whereOf(wrong: JsonReaderException): String =
    val said = wrong.getMessage
    val offset = said.drop(said.lastIndexOf(Offset) + Offset.length)
    Try(java.lang.Long.parseLong(offset, 16)).fold(_ => "some byte", at => s"byte $at")

  /** How the library ends its error messages. */
  private val Offset = ", offset: 0x"
