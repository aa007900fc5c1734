package burst.controller.http

import burst.controller.limits.PlatformLimits
import burst.controller.definition.FlareOptions
import burst.controller.limits.NamespaceLimits
import burst.controller.placement.Packing
import scala.concurrent.duration.FiniteDuration

/** Reads the options that definitions and flares have in common, and checks them against the limits. */
final class OptionsReader(defaults: FlareDefaults, limits: PlatformLimits):
  import OptionsReader.*

  def read(fields: Fields, namespace: NamespaceLimits): Either[ApiError, FlareOptions] =
    for
      granularity <- fields.int("granularity", 1, namespace.burstSize)
      packing <- fields.choice("packing", Packing.named)
      backend <- fields.choice("backend", defaults.backends.map(name => name -> name))
      chunkSize <- fields.int("chunkSize", limits.chunkSizeMin, limits.chunkSizeMax, Measure.Bytes)
      timeout <- fields.millis("timeout", limits.timeout)
      memory <- fields.int("memory", LeastMemory, namespace.memory, Measure.Mebibytes)
      retries <- fields.int(FlareOptions.Retries, 0, limits.retries)
    yield FlareOptions(
      granularity = granularity,
      packing = packing,
      backend = backend,
      chunkSize = chunkSize,
      timeout = timeout,
      memory = memory,
      retries = retries
    )

  /** Reads how long a group may be without a flare. */
  def idleTimeout(fields: Fields): Either[ApiError, Option[FiniteDuration]] =
    fields.millis("idleTimeout", limits.groupIdleTimeout)

object OptionsReader:
  /** The least memory, in MiB, in which a program with a thread and its buffers can start at all. */
  val LeastMemory = 16
