package burst.controller.limits

import io.circe.Codec
import scala.deriving.Mirror

/** The limits of a namespace. `memory` is in MiB per worker; `definitionBytes` covers the packages,
  * parameters and variables of all its definitions, `storedBytes` the results and logs of all its flares,
  * beyond which its oldest are deleted; `invocationsPerMinute` and `firesPerMinute` count by calendar minute;
  * `egress` is whether its packs may reach the internet.
  */
final case class NamespaceLimits(
    burstSize: Int,
    concurrentSlots: Int,
    memory: Int,
    packageBytes: Long,
    flaresPerMinute: Int,
    definitions: Int,
    definitionBytes: Long,
    storedBytes: Long,
    invocationsPerMinute: Int,
    firesPerMinute: Int,
    deploysPerMinute: Int,
    requestsPerMinute: Int,
    concurrentRequests: Int,
    egress: Boolean
)

/** A namespace's own limits. For all others the configured ones apply, even when they change; invocations and
  * fires default to the limit of flares.
  */
final case class OwnLimits(
    burstSize: Option[Int] = None,
    concurrentSlots: Option[Int] = None,
    memory: Option[Int] = None,
    packageBytes: Option[Long] = None,
    flaresPerMinute: Option[Int] = None,
    definitions: Option[Int] = None,
    definitionBytes: Option[Long] = None,
    storedBytes: Option[Long] = None,
    invocationsPerMinute: Option[Int] = None,
    firesPerMinute: Option[Int] = None,
    deploysPerMinute: Option[Int] = None,
    requestsPerMinute: Option[Int] = None,
    concurrentRequests: Option[Int] = None,
    egress: Option[Boolean] = None
) derives Codec.AsObject:

  /** These limits, with those that are absent taken from `others`. */
  def or(others: OwnLimits): OwnLimits =
    val either = productIterator.zip(others.productIterator).map:
      case (None, other) => other
      case (own, _) => own
    summon[Mirror.ProductOf[OwnLimits]].fromProduct(Tuple.fromArray(either.toArray))

  def over(configured: NamespaceLimits): NamespaceLimits = NamespaceLimits(
    burstSize = burstSize.getOrElse(configured.burstSize),
    concurrentSlots = concurrentSlots.getOrElse(configured.concurrentSlots),
    memory = memory.getOrElse(configured.memory),
    packageBytes = packageBytes.getOrElse(configured.packageBytes),
    flaresPerMinute = flaresPerMinute.getOrElse(configured.flaresPerMinute),
    definitions = definitions.getOrElse(configured.definitions),
    definitionBytes = definitionBytes.getOrElse(configured.definitionBytes),
    storedBytes = storedBytes.getOrElse(configured.storedBytes),
    invocationsPerMinute =
      invocationsPerMinute.orElse(flaresPerMinute).getOrElse(configured.invocationsPerMinute),
    firesPerMinute = firesPerMinute.orElse(flaresPerMinute).getOrElse(configured.firesPerMinute),
    deploysPerMinute = deploysPerMinute.getOrElse(configured.deploysPerMinute),
    requestsPerMinute = requestsPerMinute.getOrElse(configured.requestsPerMinute),
    concurrentRequests = concurrentRequests.getOrElse(configured.concurrentRequests),
    egress = egress.getOrElse(configured.egress)
  )
