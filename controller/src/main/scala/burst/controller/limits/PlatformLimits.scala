package burst.controller.limits

import com.typesafe.config.Config

/** `burst.limits`: what the platform allows at all, and namespaces that have no limits of their own. */
final case class PlatformLimits(
    namespace: NamespaceLimits,
    timeout: Long,
    groupIdleTimeout: Long,
    retries: Int,
    chunkSizeMin: Int,
    chunkSizeMax: Int,
    packages: PackageLimits
)

/** Limits for what a package may unpack to; its executable is held while it is looked at. */
final case class PackageLimits(entries: Int, unpackedBytes: Long, executableBytes: Long)

object PlatformLimits:
  private val ExecutableHeapShare = 8

  def from(config: Config): PlatformLimits =
    val limits = config.getConfig("burst.limits")
    PlatformLimits(
      NamespaceLimits(
        limits.getInt("burst-size"),
        limits.getInt("concurrent-slots"),
        limits.getInt("memory"),
        limits.getBytes("package-size"),
        limits.getInt("flares-per-minute"),
        limits.getInt("definitions"),
        limits.getBytes("definitions-size"),
        limits.getBytes("stored-size"),
        limits.getInt("invocations-per-minute"),
        limits.getInt("fires-per-minute"),
        limits.getInt("deploys-per-minute"),
        limits.getInt("requests-per-minute"),
        limits.getInt("concurrent-requests"),
        limits.getBoolean("egress")
      ),
      limits.getDuration("timeout").toMillis,
      limits.getDuration("group-idle-timeout").toMillis,
      limits.getInt("retries"),
      limits.getBytes("chunk-size-min").toInt,
      limits.getBytes("chunk-size-max").toInt,
      PackageLimits(
        limits.getInt("package-entries"),
        limits.getBytes("unpacked-size"),
        Runtime.getRuntime.maxMemory / ExecutableHeapShare
      )
    )
