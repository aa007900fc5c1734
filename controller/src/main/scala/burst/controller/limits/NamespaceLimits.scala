package burst.controller.limits

import io.circe.Codec
import scala.deriving.Mirror

/** What a namespace may use. `memory` in MiB per worker; `definitionBytes` those of all its definitions'
  * packages, parameters and variables, `storedBytes` those of all its flares' results and logs, beyond which
  * its oldest go; `invocationsPerMinute` and `firesPerMinute` in minutes of the calendar; `egress` whether
  * its packs may reach the internet.
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

/** The limits a namespace has of its own. For all others the configured ones hold, also when they change;
  * invocations and fires have what is said of flares.
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

  /** Those of `others` where it has none itself. */
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
