package burst.controller.definition

import burst.protocol.{DefinitionRef, PackageId}
import io.circe.JsonObject
import io.circe.derivation.{Configuration, ConfiguredCodec, ConfiguredEnumCodec}

/** How a flare's workers are spread over containers (docs/architecture.md, section 1). */
enum Packing:
  case Mixed, Homogeneous, Heterogeneous

object Packing:
  given Configuration = Configuration.default.withKebabCaseConstructorNames
  given ConfiguredEnumCodec[Packing] = ConfiguredEnumCodec.derived

/** What can be set per definition and again per flare; what is absent is the platform's choice. `timeout` is
  * in milliseconds, `memory` in MiB per worker, `chunkSize` in bytes.
  */
final case class FlareOptions(
    granularity: Option[Int] = None,
    packing: Option[Packing] = None,
    backend: Option[String] = None,
    chunkSize: Option[Int] = None,
    timeout: Option[Long] = None,
    memory: Option[Int] = None,
    retries: Option[Int] = None
):
  /** These options, completed by `defaults` where they say nothing. */
  def orElse(defaults: FlareOptions): FlareOptions = FlareOptions(
    granularity.orElse(defaults.granularity),
    packing.orElse(defaults.packing),
    backend.orElse(defaults.backend),
    chunkSize.orElse(defaults.chunkSize),
    timeout.orElse(defaults.timeout),
    memory.orElse(defaults.memory),
    retries.orElse(defaults.retries)
  )

object FlareOptions:
  given Configuration = Configuration.default.withDefaults.withStrictDecoding
  given ConfiguredCodec[FlareOptions] = ConfiguredCodec.derived

/** A deployed work function. `updated` is in microseconds since the epoch. */
final case class Definition(
    namespace: String,
    name: String,
    version: String,
    kind: String,
    packageId: PackageId,
    packageSize: Long,
    options: FlareOptions,
    parameters: JsonObject,
    updated: Long
):
  def ref: DefinitionRef = DefinitionRef(namespace, name, version, packageId)
