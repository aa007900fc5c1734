package burst.controller.limits

import com.typesafe.config.Config
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** `burst.limits`: the limits of the whole platform, and of namespaces that have none of their own. */
final case class PlatformLimits(
    namespace: NamespaceLimits,
    timeout: FiniteDuration,
    groupIdleTimeout: FiniteDuration,
    retries: Int,
    chunkSizeMin: Int,
    chunkSizeMax: Int,
    packages: PackageLimits
)

/** Limits for an unpacked package; its executable is held in memory while it is checked. */
final case class PackageLimits(entries: Int, unpackedBytes: Long, executableBytes: Long)

object PlatformLimits:
  private val ExecutableHeapShare = 8

  def from(config: Config): PlatformLimits =
    val limits = config.getConfig("burst.limits")
    PlatformLimits(
      NamespaceLimits(
        burstSize = limits.getInt("burst-size"),
        concurrentSlots = limits.getInt("concurrent-slots"),
        memory = limits.getInt("memory"),
        packageBytes = limits.getBytes("package-size"),
        flaresPerMinute = limits.getInt("flares-per-minute"),
        definitions = limits.getInt("definitions"),
        definitionBytes = limits.getBytes("definitions-size"),
        storedBytes = limits.getBytes("stored-size"),
        invocationsPerMinute = limits.getInt("invocations-per-minute"),
        firesPerMinute = limits.getInt("fires-per-minute"),
        deploysPerMinute = limits.getInt("deploys-per-minute"),
        requestsPerMinute = limits.getInt("requests-per-minute"),
        concurrentRequests = limits.getInt("concurrent-requests"),
        egress = limits.getBoolean("egress")
      ),
      timeout = limits.getDuration("timeout").toMillis.millis,
      groupIdleTimeout = limits.getDuration("group-idle-timeout").toMillis.millis,
      retries = limits.getInt("retries"),
      chunkSizeMin = limits.getBytes("chunk-size-min").toInt,
      chunkSizeMax = limits.getBytes("chunk-size-max").toInt,
      packages = PackageLimits(
        entries = limits.getInt("package-entries"),
        unpackedBytes = limits.getBytes("unpacked-size"),
        executableBytes = Runtime.getRuntime.maxMemory / ExecutableHeapShare
      )
    )
