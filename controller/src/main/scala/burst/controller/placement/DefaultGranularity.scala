package burst.controller.placement

import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** The platform's choice of granularity if neither the flare nor its definition sets one. */
enum DefaultGranularity:
  /** Whatever costs least; see [[PlacementPolicy]]. */
  case Cheapest(costs: PackCosts)
  case Fixed(workers: Int)

  /** The unit to place by, if this choice sets one; never larger than a machine, as the platform must not
    * choose what it cannot place.
    */
  def unit(cluster: ClusterView): Option[Int] = this match
    case Cheapest(_) => None
    case Fixed(workers) => Some(workers.min(cluster.largestMachine).max(1))

/** The costs of packs: `start` of one container on a machine that starts several, in effect one after
  * another; `leftover` of a slot that stays free on a machine that is only partly filled, and so is lost to
  * flares that want the whole machine.
  */
final case class PackCosts(start: FiniteDuration, leftover: FiniteDuration):
  // Plain numbers, as thousands of sizes are compared.
  private val (startMicros, leftoverMicros) = (start.toMicros, leftover.toMicros)

  /** The time until the last of this many containers of one machine runs, in microseconds. */
  def starting(containers: Int): Long = containers * startMicros

  /** The cost of these shares in units of `g`, in microseconds. Machines start their containers in parallel,
    * so the one with the most containers decides.
    */
  def of(shares: Vector[Share], g: Int): Long =
    starting(shares.iterator.map(share => (share.workers + g - 1) / g).max) +
      leftoverMicros * shares.iterator.map(_.left.toLong).sum

object PackCosts:
  /** A start as measured with docker on two cores: 48 containers took 4.7 s (`benchmarks/results`). */
  val Measured: PackCosts = PackCosts(start = 100.millis, leftover = 5.millis)
