package burst.controller.store

import io.circe.Codec

/** What a namespace may use. `memory` in MiB per worker. */
final case class NamespaceLimits(
    burstSize: Int,
    concurrentSlots: Int,
    memory: Int,
    packageBytes: Long,
    flaresPerMinute: Int,
    deploysPerMinute: Int,
    requestsPerMinute: Int,
    concurrentRequests: Int
)

/** The limits a namespace has of its own. For all others the configured ones hold, also when they change. */
final case class OwnLimits(
    burstSize: Option[Int] = None,
    concurrentSlots: Option[Int] = None,
    memory: Option[Int] = None,
    packageBytes: Option[Long] = None,
    flaresPerMinute: Option[Int] = None,
    deploysPerMinute: Option[Int] = None,
    requestsPerMinute: Option[Int] = None,
    concurrentRequests: Option[Int] = None
) derives Codec.AsObject:
  def over(configured: NamespaceLimits): NamespaceLimits = NamespaceLimits(
    burstSize.getOrElse(configured.burstSize),
    concurrentSlots.getOrElse(configured.concurrentSlots),
    memory.getOrElse(configured.memory),
    packageBytes.getOrElse(configured.packageBytes),
    flaresPerMinute.getOrElse(configured.flaresPerMinute),
    deploysPerMinute.getOrElse(configured.deploysPerMinute),
    requestsPerMinute.getOrElse(configured.requestsPerMinute),
    concurrentRequests.getOrElse(configured.concurrentRequests)
  )
