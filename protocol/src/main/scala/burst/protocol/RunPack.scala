package burst.protocol

import io.circe.{Codec, Decoder, DecodingFailure, Encoder, Json}
import io.circe.syntax.*

/** The inputs of a pack's workers: one for all, or one for each worker of this pack in the order of their
  * ids.
  */
enum Inputs:
  case Shared(value: Json)
  case Each(values: Vector[Json])

object Inputs:
  given Encoder[Inputs] =
    case Shared(value) => Json.obj("shared" -> value)
    case Each(values) => Json.obj("each" -> values.asJson)

  given Decoder[Inputs] = cursor =>
    cursor.downField("each").focus match
      case Some(values) => values.as[Vector[Json]].map(Each(_))
      case None =>
        cursor
          .downField("shared")
          .focus
          .map(Shared(_))
          .toRight(DecodingFailure("inputs need 'shared' or 'each'", cursor.history))

/** What carries messages between packs. Without a `chunkSize` the backend cuts messages as suits it best.
  * `uri` may hold credentials: it is never logged. `ca` holds the certificates, as PEM, by which a server
  * reached over TLS is known; without it, the machine's.
  */
final case class BackendConfig(
    kind: String,
    uri: Option[String],
    chunkSize: Option[Int],
    ca: Option[String] = None
) derives Codec.AsObject:
  override def toString: String = s"BackendConfig($kind)"

/** A flare's secret: packs prove to each other with it that they belong together. Never logged. */
final case class Secret(hex: String):
  override def toString: String = "Secret(…)"

object Secret:
  def random(): Secret =
    val bytes = new Array[Byte](32)
    java.security.SecureRandom().nextBytes(bytes)
    Secret(java.util.HexFormat.of().formatHex(bytes))

  given Codec[Secret] = Codec.from(Decoder[String].map(Secret(_)), Encoder[String].contramap(_.hex))

/** The body of the runtime's `POST /packs`. `deadline` is in microseconds since the epoch. Workers of pack
  * `p` are the contiguous ids after those of packs `0..p`. What workers leave is kept for the next flare of
  * the same `group`. `memory` is how many MiB the program may have, where no container holds it to that.
  */
final case class RunPack(
    flareId: FlareId,
    pack: Int,
    packSizes: Vector[Int],
    inputs: Inputs,
    backend: BackendConfig,
    secret: Secret,
    advertise: String,
    deadline: Long,
    group: Option[FlareId],
    autostart: Boolean,
    lease: Option[Long],
    memory: Option[Long]
) derives Codec.AsObject
