package burst.controller.action

import burst.controller.store.OpenRecord
import burst.protocol.{FlareId, JsonText, Timestamp}
import io.circe.syntax.*
import io.circe.{jawn, Codec, Decoder, Encoder, Json, JsonObject}
import scala.concurrent.duration.FiniteDuration

/** An [[Activation]] without its result and its logs, which may be large. Times are whole milliseconds. */
final case class ActivationHead(
    id: FlareId,
    namespace: String,
    name: String,
    version: String,
    subject: String,
    start: Timestamp,
    end: Option[Timestamp],
    duration: Option[FiniteDuration],
    cause: Option[FlareId],
    status: ActivationStatus,
    annotations: JsonObject
)

object ActivationHead:
  /** Truncates a time to milliseconds, as in records. */
  def inMillis(at: Timestamp): Timestamp = Timestamp.ofMillis(at.millis)
  def now(): Timestamp = inMillis(Timestamp.now())

  private given Codec[Timestamp] =
    Codec.from(Decoder.decodeLong.map(Timestamp.ofMillis), Encoder.encodeLong.contramap(_.millis))

  /** For stored records, which must be readable whatever they contain. */
  private given Codec[FiniteDuration] = Codec.from(
    Decoder.decodeLong.map(Timestamp.ofMillis(_) - Timestamp.Epoch),
    Encoder.encodeLong.contramap(_.toMillis)
  )
  private given Codec[ActivationStatus] = Codec.from(
    Decoder.decodeInt.emap(number => ActivationStatus.values.lift(number).toRight("no status")),
    Encoder.encodeInt.contramap(_.ordinal)
  )
  given Codec.AsObject[ActivationHead] = Codec.AsObject.derived

/** An [[Activation]] whose result is text as it came: it may have a MiB, and is rarely parsed. */
final case class ActivationRecord(
    head: ActivationHead,
    result: JsonText,
    logs: Vector[String] = Vector.empty
):
  export head.{annotations, duration, id, status}

  def activation: Activation =
    // It was valid JSON when it came.
    Activation(head, jawn.parseByteBuffer(result.bytes.asByteBuffer).getOrElse(Json.Null), logs)

object ActivationRecord:
  def of(activation: Activation): ActivationRecord =
    ActivationRecord(activation.head, JsonText.of(activation.result), activation.logs)

/** The stored form of a record that is not of a flare. */
private[action] object RecordFields:
  /** Returns the record as it is stored while the call runs: nobody sees that unless its controller ends. */
  def begun(id: FlareId, call: Call, kind: String, more: (String, Json)*): ActivationHead =
    val fields = FlareInvocation.fields(call.caller, call.action, call.origin.transaction)
    ActivationHead(
      id,
      call.caller.namespace,
      call.action.target.name,
      fields.version,
      call.caller.namespace,
      ActivationHead.now(),
      end = None,
      duration = None,
      call.cause,
      ActivationStatus.InternalError,
      JsonObject.fromIterable(
        Vector("path" -> fields.path.asJson, "kind" -> kind.asJson) ++ more
          ++ Option.when(call.component)("causedBy" -> "sequence".asJson)
          ++ fields.binding.map("binding" -> _.asJson)
      )
    )

  /** @param path
    *   `NAME` or `PACKAGE/NAME`
    */
  def of(head: ActivationHead, path: String): OpenRecord =
    OpenRecord(head.id, head.namespace, path, head.start, head.asJsonObject)

  def read(fields: JsonObject): ActivationHead =
    fields.asJson.as[ActivationHead].fold(cause => throw IllegalStateException(cause.message), identity)
