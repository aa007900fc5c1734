package burst.controller.http

import burst.controller.limits.PlatformLimits
import burst.controller.definition.{FlareOptions, Packing}
import burst.controller.limits.NamespaceLimits

/** Reads the options a definition and a flare have in common, and holds them against the limits. */
final class OptionsReader(defaults: FlareDefaults, limits: PlatformLimits):
  import OptionsReader.*

  def read(fields: Fields, namespace: NamespaceLimits): Either[ApiError, FlareOptions] =
    for
      granularity <- fields.int("granularity", 1, namespace.burstSize)
      packing <- fields.choice("packing", Packing.named)
      backend <- fields.choice("backend", defaults.backends.map(name => name -> name))
      chunkSize <- fields.int("chunkSize", limits.chunkSizeMin, limits.chunkSizeMax, Measure.Bytes)
      timeout <- fields.long("timeout", 1, limits.timeout, Measure.Milliseconds)
      memory <- fields.int("memory", LeastMemory, namespace.memory, Measure.Mebibytes)
      retries <- fields.int("retries", 0, limits.retries)
    yield FlareOptions(granularity, packing, backend, chunkSize, timeout, memory, retries)

  /** How long a group may be without a flare, in milliseconds. */
  def idleTimeout(fields: Fields): Either[ApiError, Option[Long]] =
    fields.long("idleTimeout", 1, limits.groupIdleTimeout, Measure.Milliseconds)

object OptionsReader:
  /** MiB in which a program with a thread and its buffers can start at all. */
  val LeastMemory = 16
