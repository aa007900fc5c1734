package burst.protocol

import io.circe.{Codec, Decoder, Encoder, Json}
import io.circe.syntax.*
import org.apache.pekko.util.{ByteString, ByteStringBuilder}
import scala.concurrent.duration.FiniteDuration

/** The inputs of workers: one for all, or one for each in the order of their ids. `OutOfLine` stands for
  * inputs that are large and stay in the controller's store while nobody needs them.
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

  /** As one JSON document, without copying any input. */
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
  /** Inputs of up to so many bytes stay in memory as long as their flare. */
  val Small: Long = 64 * 1024

  val Hidden: Inputs = Shared(JsonText.Null)

/** What carries messages between packs. Without a `chunkSize` the backend cuts messages as suits it best.
  * `uri` may hold credentials: it is never logged. `ca` holds the certificates, as PEM, by which a server
  * reached over TLS is known; without it, the machine's. With `sharedCredentials` flares are told `uri`
  * itself, and not one of their own.
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

/** The spans of a pack's workers, by which what they do themselves joins their flare's trace. */
final case class WorkerSpans(id: String, sampled: Boolean, workers: Vector[String]) derives Codec.AsObject

/** The body of the runtime's `POST /packs`. Workers of pack `p` are the contiguous ids after those of packs
  * `0..p`. What workers leave is kept for the next flare of the same `group`. `memory` is how many MiB the
  * program may have, where no container holds it to that. `invocation` is what a function of OpenWhisk's is
  * told of this run. `trace` has a span for each worker of this pack, in the order of their ids. `logLimit`
  * is how many bytes each worker may log; where there is none, as many as in releases that did not say it.
  */
final case class RunPack(
    flareId: FlareId,
    pack: Int,
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
  /** As the runtime reads it; the inputs' bytes are shared with whoever else has them. */
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
