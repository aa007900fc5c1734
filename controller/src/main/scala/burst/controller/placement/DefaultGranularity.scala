package burst.controller.placement

import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** The platform's choice of granularity where neither flare nor definition says one. */
enum DefaultGranularity:
  /** Whatever costs least; see [[PlacementPolicy]]. */
  case Cheapest(costs: PackCosts)
  case Fixed(workers: Int)

  /** The unit to place by, if the choice names one; never larger than a machine, as the platform must not
    * choose what it cannot place.
    */
  def unit(cluster: ClusterView): Option[Int] = this match
    case Cheapest(_) => None
    case Fixed(workers) => Some(workers.min(cluster.largestMachine).max(1))

/** What packs cost: `start` of one container on a machine that starts several, one after another for all
  * practical purposes; `leftover` of a slot that stays free on a machine which was broken into, and so is
  * lost to flares that want the machine whole.
  */
final case class PackCosts(start: FiniteDuration, leftover: FiniteDuration):
  // As numbers, of which sizes by the thousand are compared.
  private val (startMicros, leftoverMicros) = (start.toMicros, leftover.toMicros)

  /** The time until the last of so many containers of one machine runs, in microseconds. */
  def starting(containers: Int): Long = containers * startMicros

  /** In microseconds. Machines start their containers side by side, so that the one with the most decides. */
  def of(shares: Vector[Share], g: Int): Long =
    starting(shares.iterator.map(share => (share.workers + g - 1) / g).max) +
      leftoverMicros * shares.iterator.map(_.left.toLong).sum

object PackCosts:
  /** A start as measured with docker on two cores: 48 containers took 4.7 s (`benchmarks/results`). */
  val Measured: PackCosts = PackCosts(start = 100.millis, leftover = 5.millis)
