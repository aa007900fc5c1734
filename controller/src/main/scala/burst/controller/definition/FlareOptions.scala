package burst.controller.definition

import burst.protocol.Durations
import io.circe.Codec
import io.circe.derivation.{Configuration, ConfiguredCodec}
import scala.concurrent.duration.FiniteDuration

/** What can be set per definition and again per flare; what is absent is the platform's choice. `memory` is
  * in MiB per worker, `chunkSize` in bytes. An option is a field here, with its value in force in
  * [[FlareTerms]]; nothing else is said of it on its way through the controller.
  */
final case class FlareOptions(
    granularity: Option[Int] = None,
    packing: Option[Packing] = None,
    backend: Option[String] = None,
    chunkSize: Option[Int] = None,
    timeout: Option[FiniteDuration] = None,
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
  private given Codec[FiniteDuration] = Durations.inMillis
  given Configuration = Configuration.default.withDefaults.withStrictDecoding
  given ConfiguredCodec[FlareOptions] = ConfiguredCodec.derived

  val Names: Seq[String] = FlareOptions().productElementNames.toSeq

  /** What a group cannot have, and what is not shown of a flare. */
  val Retries = "retries"

/** The options in force for a flare. What is absent still is chosen later: the granularity by the scheduler,
  * the size of chunks by the backend.
  */
final case class FlareTerms(
    granularity: Option[Int] = None,
    packing: Packing,
    backend: String,
    chunkSize: Option[Int] = None,
    timeout: FiniteDuration,
    memory: Int,
    retries: Int
)

object FlareTerms:
  private given Codec[FiniteDuration] = Durations.inMillis
  given Codec.AsObject[FlareTerms] = Codec.AsObject.derived

  /** These options, completed by what the platform gives where they say nothing. */
  def of(options: FlareOptions, defaults: FlareTerms): FlareTerms = FlareTerms(
    options.granularity.orElse(defaults.granularity),
    options.packing.getOrElse(defaults.packing),
    options.backend.getOrElse(defaults.backend),
    options.chunkSize.orElse(defaults.chunkSize),
    options.timeout.getOrElse(defaults.timeout),
    options.memory.getOrElse(defaults.memory),
    options.retries.getOrElse(defaults.retries)
  )
