package burst.protocol

import io.circe.derivation.{Configuration, ConfiguredCodec}
import io.circe.{Codec, Decoder, Encoder}

/** In lower case. */
private def isHexadecimal(text: String): Boolean =
  text.forall(digit => digit >= '0' && digit <= '9' || digit >= 'a' && digit <= 'f')

/** Identifies one flare: 32 lower-case hexadecimal digits, safe in paths, keys and container names. */
opaque type FlareId = String

object FlareId:
  def random(): FlareId = java.util.UUID.randomUUID.toString.replace("-", "")

  /** The id a string holds, or nothing where it is not one; use it on all that comes from outside. */
  def parse(text: String): Option[FlareId] = Option.when(text.length == 32 && isHexadecimal(text))(text)

  extension (id: FlareId) def value: String = id

  given Codec[FlareId] = Codec.from(
    Decoder.decodeString.emap(text => parse(text).toRight(s"'$text' is not a flare id")),
    Encoder.encodeString
  )

/** Tells packs apart, also those of two tries of the same flare. */
final case class PackKey(flareId: FlareId, attempt: Int, pack: Int)

/** Identifies an invoker in the cluster; stable across its restarts. */
opaque type InvokerId = String

object InvokerId:
  def apply(value: String): InvokerId = value
  extension (id: InvokerId) def value: String = id
  given Codec[InvokerId] = Codec.from(Decoder.decodeString, Encoder.encodeString)
  given Ordering[InvokerId] = Ordering.String

/** A package by its content: the SHA-256 of the uploaded bytes, in lower-case hexadecimal. */
opaque type PackageId = String

object PackageId:
  /** Of a definition that has no package. */
  val Empty: PackageId = of(Array.empty)

  def of(bytes: Array[Byte]): PackageId =
    val digest = java.security.MessageDigest.getInstance("SHA-256").digest(bytes)
    java.util.HexFormat.of().formatHex(digest)

  def parse(text: String): Option[PackageId] = Option.when(text.length == 64 && isHexadecimal(text))(text)

  extension (id: PackageId) def value: String = id

  given Codec[PackageId] = Codec.from(
    Decoder.decodeString.emap(text => parse(text).toRight(s"'$text' is not a package id")),
    Encoder.encodeString
  )

/** The version of a definition that a flare runs. Packs are reused only within one of these. `main` is the
  * function by which a program of that kind is called, where there is more than one; `concurrency` how many
  * calls one container of it runs at once; `logs` how many MiB a flare of one worker may log.
  */
final case class DefinitionRef(
    namespace: String,
    name: String,
    version: String,
    packageId: PackageId,
    kind: String = DefinitionRef.Rust,
    main: Option[String] = None,
    image: Option[String] = None,
    concurrency: Int = 1,
    logs: Int = DefinitionRef.WorkerLogs
)

object DefinitionRef:
  val Rust = "rust"

  /** MiB of the log of each of several workers, and of any whose definition says nothing. */
  val WorkerLogs = 1

  private given Configuration = Configuration.default.withDefaults
  given ConfiguredCodec[DefinitionRef] = ConfiguredCodec.derived
