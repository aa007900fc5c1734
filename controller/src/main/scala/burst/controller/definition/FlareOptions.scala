package burst.controller.definition

import burst.controller.placement.Packing
import burst.protocol.Durations
import io.circe.Codec
import io.circe.derivation.{Configuration, ConfiguredCodec}
import scala.concurrent.duration.FiniteDuration

/** Options that can be set per definition and again per flare; the platform chooses those that are absent.
  * `memory` is in MiB per worker, `chunkSize` in bytes. Each option is a field here, and its value in force a
  * field of [[FlareTerms]]; nothing else in the controller depends on which options there are.
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
  /** These options, with those that are absent taken from `defaults`. */
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

  /** The option that a group cannot have, and that is not shown for a flare. */
  val Retries = "retries"

/** The options in force for a flare. Those still absent are chosen later: the granularity by the scheduler,
  * the chunk size by the backend.
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

  /** These options, with those that are absent taken from the platform's `defaults`. */
  def of(options: FlareOptions, defaults: FlareTerms): FlareTerms = FlareTerms(
    options.granularity.orElse(defaults.granularity),
    options.packing.getOrElse(defaults.packing),
    options.backend.getOrElse(defaults.backend),
    options.chunkSize.orElse(defaults.chunkSize),
    options.timeout.getOrElse(defaults.timeout),
    options.memory.getOrElse(defaults.memory),
    options.retries.getOrElse(defaults.retries)
  )
