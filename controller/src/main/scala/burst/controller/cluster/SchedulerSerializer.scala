package burst.controller.cluster

import burst.controller.flare.{Flare, FlareRequest, PackRecord, WorkerRecord}
import burst.controller.scheduler.GangScheduler.*
import burst.controller.scheduler.{
  CancelOutcome,
  CancelledBy,
  GangScheduler,
  InvokerView,
  Refusal,
  Standing,
  Suspicion,
  WaitsFor
}
import burst.protocol.{FlareId, Inputs}
import io.circe.derivation.{Configuration, ConfiguredCodec, ConfiguredEnumCodec}
import io.circe.jawn.decodeByteArray
import io.circe.syntax.*
import io.circe.{Codec, Decoder, Encoder, Json}
import java.io.NotSerializableException
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.actor.ExtendedActorSystem
import org.apache.pekko.actor.typed.scaladsl.adapter.ClassicActorSystemOps
import org.apache.pekko.actor.typed.{ActorRef, ActorRefResolver}
import org.apache.pekko.serialization.SerializerWithStringManifest

/** What a controller asks of the scheduler on another one, and the answers, as JSON.
  *
  * Flares do not travel back whole: the asker reads them from the store they share. An accepted one comes as
  * its summary, and of one that has ended the answer is that it goes on no more.
  */
final class SchedulerSerializer(system: ExtendedActorSystem) extends SerializerWithStringManifest:
  import SchedulerSerializer.*

  private val codecs = Codecs(ActorRefResolver(system.toTyped))
  import codecs.given

  val identifier: Int = 7302

  def manifest(message: AnyRef): String = message match
    case _: (Submit | Cancel | EndNamespace | ReopenNamespace | Await | Locate | ListInvokers) => "request"
    case _: Submitted => "submitted"
    case _: Awaited => "awaited"
    case _: CancelOutcome => "cancelled"
    case NamespaceEnded => "namespace-ended"
    case _: Located => "located"
    case _: InvokerList => "invokers"
    case other => throw NotSerializableException(other.getClass.getName)

  def toBinary(message: AnyRef): Array[Byte] =
    val json = message match
      case Submit(request, slotLimit, replyTo) =>
        (Request.Submit(request, slotLimit, replyTo): Request).asJson
      case Cancel(id, by, replyTo) => (Request.Cancel(id, by, replyTo): Request).asJson
      case EndNamespace(namespace, replyTo) => (Request.EndNamespace(namespace, replyTo): Request).asJson
      case ReopenNamespace(namespace) => (Request.ReopenNamespace(namespace): Request).asJson
      case Await(id, replyTo) => (Request.Await(id, replyTo): Request).asJson
      case Locate(id, replyTo) => (Request.Locate(id, replyTo): Request).asJson
      case ListInvokers(replyTo) => (Request.ListInvokers(replyTo): Request).asJson
      case Submitted.Accepted(flare) => (Answer.Accepted(summary(flare)): Answer).asJson
      case Submitted.Refused(refusal) => (Answer.Refused(refusal): Answer).asJson
      case Submitted.NotStored(operation, cause) =>
        (Answer.NotStored(operation, String.valueOf(cause.getMessage)): Answer).asJson
      case _: Awaited => Json.Null
      case NamespaceEnded => Json.Null
      case outcome: CancelOutcome => Json.fromInt(outcome.ordinal)
      case located: Located => located.asJson
      case list: InvokerList => list.asJson
      case other => throw NotSerializableException(other.getClass.getName)
    json.noSpaces.getBytes(UTF_8)

  def fromBinary(bytes: Array[Byte], manifest: String): AnyRef = manifest match
    case "request" =>
      decode[Request](bytes, manifest) match
        case Request.Submit(request, slotLimit, replyTo) => Submit(request, slotLimit, replyTo)
        case Request.Cancel(id, by, replyTo) => Cancel(id, by, replyTo)
        case Request.EndNamespace(namespace, replyTo) => EndNamespace(namespace, replyTo)
        case Request.ReopenNamespace(namespace) => ReopenNamespace(namespace)
        case Request.Await(id, replyTo) => Await(id, replyTo)
        case Request.Locate(id, replyTo) => Locate(id, replyTo)
        case Request.ListInvokers(replyTo) => ListInvokers(replyTo)
    case "submitted" =>
      decode[Answer](bytes, manifest) match
        case Answer.Accepted(flare) => Submitted.Accepted(flare)
        case Answer.Refused(refusal) => Submitted.Refused(refusal)
        case Answer.NotStored(operation, cause) => Submitted.NotStored(operation, RemoteFailure(cause))
    case "awaited" => Awaited.NotActive
    case "namespace-ended" => NamespaceEnded
    case "cancelled" => CancelOutcome.fromOrdinal(decode[Int](bytes, manifest))
    case "located" => decode[Located](bytes, manifest)
    case "invokers" => decode[InvokerList](bytes, manifest)
    case other => throw NotSerializableException(s"a message of the unknown kind '$other'")

object SchedulerSerializer:
  /** What failed on the scheduler's controller, whose log has the rest. */
  private final class RemoteFailure(message: String) extends RuntimeException(message, null, false, false)

  private enum Request:
    case Submit(request: FlareRequest, slotLimit: Int, replyTo: ActorRef[Submitted])
    case Cancel(id: FlareId, by: CancelledBy, replyTo: ActorRef[CancelOutcome])
    case EndNamespace(namespace: String, replyTo: ActorRef[NamespaceEnded.type])
    case ReopenNamespace(namespace: String)
    case Await(id: FlareId, replyTo: ActorRef[Awaited])
    case Locate(id: FlareId, replyTo: ActorRef[Located])
    case ListInvokers(replyTo: ActorRef[InvokerList])

  private enum Answer:
    case Accepted(flare: Flare)
    case Refused(refusal: Refusal)
    case NotStored(operation: String, cause: String)

  private def summary(flare: Flare): Flare = flare.copy(
    request = flare.request.copy(inputs = Inputs.Hidden),
    packs = Vector.empty,
    workers = Vector.empty
  )

  private def decode[A: Decoder](bytes: Array[Byte], kind: String): A =
    decodeByteArray[A](bytes).fold(
      _ => throw NotSerializableException(s"a damaged message '$kind'"),
      identity
    )

  private final class Codecs(refs: ActorRefResolver):
    private given Configuration = Configuration.default.withDiscriminator("type")

    private given [A]: Codec[ActorRef[A]] = Codec.from(
      Decoder.decodeString.emapTry(path => scala.util.Try(refs.resolveActorRef[A](path))),
      Encoder.encodeString.contramap(refs.toSerializationFormat)
    )
    private given Codec[FlareRequest] = ConfiguredCodec.derived
    private given Codec[PackRecord] = ConfiguredCodec.derived
    private given Codec[WorkerRecord] = ConfiguredCodec.derived
    private given Codec[Flare] = ConfiguredCodec.derived
    private given ConfiguredEnumCodec[CancelledBy] = ConfiguredEnumCodec.derived
    private given Codec[Refusal] = ConfiguredCodec.derived
    private given ConfiguredEnumCodec[WaitsFor] = ConfiguredEnumCodec.derived
    private given Codec[Either[WaitsFor, Long]] = Codec.codecForEither("waitsFor", "start")
    private given Codec[Standing] = ConfiguredCodec.derived
    private given Codec[Suspicion] = ConfiguredCodec.derived
    private given Codec[InvokerView] = ConfiguredCodec.derived

    given Codec[Request] = ConfiguredCodec.derived
    given Codec[Answer] = ConfiguredCodec.derived
    given Codec[Located] = ConfiguredCodec.derived
    given Codec[InvokerList] = ConfiguredCodec.derived
