package burst.protocol

import io.circe.derivation.{Configuration, ConfiguredCodec}
import io.circe.{Codec, Decoder, Encoder}

/** Accepts lower case only. */
private def isHexadecimal(text: String): Boolean =
  text.forall(digit => digit >= '0' && digit <= '9' || digit >= 'a' && digit <= 'f')

/** Identifies one flare: 32 lower-case hexadecimal digits, safe in paths, keys and container names. */
opaque type FlareId = String

object FlareId:
  def random(): FlareId = java.util.UUID.randomUUID.toString.replace("-", "")

  /** The id in a string, or nothing if it is not one; use it on everything that comes from outside. */
  def parse(text: String): Option[FlareId] = Option.when(text.length == 32 && isHexadecimal(text))(text)

  extension (id: FlareId) def value: String = id

  given Codec[FlareId] = Codec.from(
    Decoder.decodeString.emap(text => parse(text).toRight(s"'$text' is not a flare id")),
    Encoder.encodeString
  )

/** The number of a pack within its flare, from 0 on. */
opaque type PackId <: Int = Int

object PackId:
  def apply(number: Int): PackId = number
  given Codec[PackId] = Codec.from(Decoder.decodeInt, Encoder.encodeInt)
  given Ordering[PackId] = Ordering.Int

/** Identifies a pack, also among several attempts of the same flare. */
final case class PackKey(flareId: FlareId, attempt: Int, pack: PackId)

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
  /** The id for a definition that has no package. */
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

/** The version of a definition that a flare runs. Packs are reused only within one version. `main` is the
  * function to call in a program of that kind, if there is more than one; `concurrency` is how many calls one
  * of its containers runs at once; `logs` is how many MiB a flare of one worker can log.
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

  /** The log limit, in MiB, of each of several workers, and the default for a single one. */
  val WorkerLogs = 1

  private given Configuration = Configuration.default.withDefaults
  given ConfiguredCodec[DefinitionRef] = ConfiguredCodec.derived
