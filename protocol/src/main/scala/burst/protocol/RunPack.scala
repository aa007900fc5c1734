package burst.protocol

import io.circe.{Codec, Decoder, Encoder, Json}
import io.circe.syntax.*
import org.apache.pekko.util.{ByteString, ByteStringBuilder}
import scala.concurrent.duration.FiniteDuration

/** The inputs of workers: one for all, or one for each in the order of their ids. `OutOfLine` stands for
  * large inputs that stay in the controller's store until they are needed.
  */
enum Inputs:
  case Shared(value: JsonText)
  case Each(values: Vector[JsonText])
  case OutOfLine(size: Long)

  /** Bytes of JSON. */
  def length: Long = this match
    case Shared(value) => value.length.toLong
    case Each(values) => values.iterator.map(_.length.toLong).sum
    case OutOfLine(size) => size

  /** The inputs as one JSON document, without copying any of them. */
  def text: ByteString = this match
    case Shared(value) => ByteString("""{"shared":""") ++ value.bytes ++ ByteString("}")
    case Each(values) =>
      val listed = ByteStringBuilder()
      values.iterator.zipWithIndex.foreach: (value, index) =>
        if index > 0 then listed.addOne(',')
        listed ++= value.bytes
      ByteString("""{"each":[""") ++ listed.result() ++ ByteString("]}")
    case OutOfLine(size) => ByteString(s"""{"kept":$size}""")

object Inputs:
  /** Inputs of up to this many bytes stay in memory for as long as their flare exists. */
  val Small: Long = 64 * 1024

  val Hidden: Inputs = Shared(JsonText.Null)

/** What carries messages between packs. Without a `chunkSize` the backend chooses how to cut messages. `uri`
  * may hold credentials: it is never logged. `ca` holds the PEM certificates by which a server is verified
  * over TLS; without it, the machine's are used. With `sharedCredentials` flares get `uri` itself instead of
  * one with credentials of their own.
  */
final case class BackendConfig(
    kind: String,
    uri: Option[String],
    chunkSize: Option[Int],
    ca: Option[String] = None,
    sharedCredentials: Boolean = false
) derives Codec.AsObject:
  override def toString: String = s"BackendConfig($kind)"

/** A flare's secret: packs prove to each other with it that they belong together. Never logged. */
final case class Secret(hex: String):
  override def toString: String = "Secret(…)"

object Secret:
  private val source = java.security.SecureRandom()

  def random(): Secret =
    val bytes = new Array[Byte](32)
    source.nextBytes(bytes)
    Secret(java.util.HexFormat.of().formatHex(bytes))

  given Codec[Secret] = Codec.from(Decoder[String].map(Secret(_)), Encoder[String].contramap(_.hex))

/** The spans of a pack's workers, which connect the workers' own spans to their flare's trace. */
final case class WorkerSpans(id: String, sampled: Boolean, workers: Vector[String]) derives Codec.AsObject

/** The body of the runtime's `POST /packs`. The workers of pack `p` have the contiguous ids after those of
  * packs `0..p`. What workers leave is kept for the next flare of the same `group`. `memory` is how many MiB
  * the program may use, if no container enforces it. `invocation` is what an OpenWhisk function learns about
  * this run. `trace` has a span for each worker of this pack, in the order of their ids. `logLimit` is how
  * many bytes each worker may log; without it, as many as in releases that did not have the field.
  */
final case class RunPack(
    flareId: FlareId,
    pack: PackId,
    packSizes: Vector[Int],
    inputs: Inputs,
    backend: BackendConfig,
    secret: Secret,
    advertise: String,
    deadline: Timestamp,
    group: Option[FlareId],
    autostart: Boolean,
    lease: Option[FiniteDuration],
    memory: Option[Long],
    invocation: Environment,
    trace: Option[WorkerSpans] = None,
    logLimit: Option[Long] = None
):
  /** The form that the runtime reads; the inputs' bytes are shared, not copied. */
  def body: ByteString =
    val always = Vector(
      "flareId" -> flareId.asJson,
      "pack" -> pack.asJson,
      "packSizes" -> packSizes.asJson,
      "backend" -> backend.asJson,
      "secret" -> secret.asJson,
      "advertise" -> advertise.asJson,
      "deadline" -> deadline.asJson,
      "group" -> group.asJson,
      "autostart" -> autostart.asJson,
      "lease" -> lease.map(_.toMillis).asJson,
      "memory" -> memory.asJson,
      "invocation" -> invocation.asJson,
      "trace" -> trace.asJson
    )
    val rest = Json.fromFields(always ++ logLimit.map("logLimit" -> _.asJson))
    ByteString(rest.noSpaces.dropRight(1)) ++ ByteString(""","inputs":""") ++ inputs.text ++ ByteString("}")
