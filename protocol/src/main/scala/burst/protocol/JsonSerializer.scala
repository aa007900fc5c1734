package burst.protocol

import io.circe.jawn.decodeByteArray
import io.circe.{Codec, Decoder, DecodingFailure, Encoder, ParsingFailure}
import java.io.NotSerializableException
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.actor.ExtendedActorSystem
import org.apache.pekko.actor.typed.scaladsl.adapter.ClassicActorSystemOps
import org.apache.pekko.actor.typed.{ActorRef, ActorRefResolver}
import org.apache.pekko.serialization.SerializerWithStringManifest
import scala.reflect.ClassTag
import scala.util.Try

/** Writes messages between nodes as JSON, by a table of the kinds there are. What does not decode is refused
  * by its kind and the field at fault, and not shown, as it may hold a user's data.
  */
abstract class JsonSerializer(val identifier: Int, system: ExtendedActorSystem)
    extends SerializerWithStringManifest:
  import JsonSerializer.Kind

  private val refs = ActorRefResolver(system.toTyped)

  protected given [A]: Codec[ActorRef[A]] = Codec.from(
    Decoder.decodeString.emapTry(path => Try(refs.resolveActorRef[A](path))),
    Encoder.encodeString.contramap(refs.toSerializationFormat)
  )

  /** A message is of the first kind that it fits. */
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
  /** Messages of one class, by the name that stands for it on the wire. */
  final class Kind[A <: AnyRef](val name: String, codec: Codec[A])(using of: ClassTag[A]):
    private[JsonSerializer] def fits(message: AnyRef): Boolean = of.runtimeClass.isInstance(message)

    private[JsonSerializer] def write(message: AnyRef): Array[Byte] = message match
      case of(message) => codec(message).noSpaces.getBytes(UTF_8)
      case other => throw NotSerializableException(other.getClass.getName)

    private[JsonSerializer] def read(bytes: Array[Byte]): A =
      decodeByteArray(bytes)(using codec) match
        case Right(message) => message
        case Left(_: ParsingFailure) => throw NotSerializableException(s"a message '$name' that is no JSON")
        case Left(failure: DecodingFailure) =>
          val where = failure.pathToRootString.fold("")(path => s", at $path")
          throw NotSerializableException(s"a damaged message '$name'$where")
