package burst.controller.scheduler

import burst.protocol.FlareId
import scala.collection.mutable

/** Where a queued flare stands: `position` 1 is next; `start` is when it will have its slots, if nothing
  * comes before it, or what it waits for whose end nobody knows.
  */
final case class QueueEstimate(position: Int, start: Either[WaitsFor, Long])

enum WaitsFor:
  /** Other flares on its group. */
  case Turn

  /** The machines that are up have fewer slots than it wants. */
  case Invokers

  /** They have enough, but groups hold them, or machines are too busy to take anything. */
  case Slots

/** Guesses when a queued flare will start. Pure.
  *
  * Goes through the queue in its order and lends each flare its slots as soon as as many have come back as it
  * needs, those of running flares when they are expected ([[WalltimePredictor]]). Only numbers of slots are
  * looked at, not where they are, and nobody passes anybody: backfill and early ends make flares start
  * sooner, units that do not fit and flares of namespaces whose turn comes first later.
  *
  * Example: 8 slots, all lent until 12:00:05; waiting are A for 6 slots, expected to take 10 s, and B for 4.
  * A starts at 12:00:05, B at 12:00:15, as A leaves only 2.
  */
object Forecast:
  def estimates(
      cluster: ClusterState,
      queue: FlareQueue,
      now: Long,
      walltimes: WalltimePredictor
  ): Map[FlareId, QueueEstimate] =
    val found = Map.newBuilder[FlareId, QueueEstimate]
    val ends = mutable.PriorityQueue.empty[(Long, Int)](using Ordering.by[(Long, Int), Long](_._1).reverse)
    cluster.holdings.valuesIterator.filterNot(_.walltime.openEnded).foreach { holding =>
      ends += ((holding.walltime.expectedAfter(now), cluster.usable(holding)))
    }
    var free = cluster.view.freeSlots
    var moment = now
    queue.order.zipWithIndex.foreach { (flare, index) =>
      // one that is larger than what is up holds up nobody
      val possible = flare.size <= cluster.view.totalSlots
      if possible then
        while free < flare.size && ends.nonEmpty do
          val (end, slots) = ends.dequeue()
          moment = moment.max(end)
          free += slots
      val starts =
        if !possible then Left(WaitsFor.Invokers)
        else if free < flare.size then Left(WaitsFor.Slots)
        else Right(moment)
      starts.foreach { start =>
        free -= flare.size
        if !flare.request.isGroup then ends += ((start + walltimes.expected(flare.request), flare.size))
      }
      found += flare.id -> QueueEstimate(index + 1, starts)
    }
    found.result()

/** The forecast as it was lately, for all who ask: many ask often, and each would go through the whole queue.
  * A new one is made once the last is older than `lifetime`, or does not know a flare that may have come
  * since.
  */
final class Forecasts(lifetime: Long, make: Long => Map[FlareId, QueueEstimate]):
  private var last = Map.empty[FlareId, QueueEstimate]
  private var made = Option.empty[(Long, FlareQueue)]

  /** Where a flare that waits stands. */
  def queueEstimate(id: FlareId, queue: FlareQueue, now: Long): Option[QueueEstimate] =
    val stale = made.forall((at, of) => now - at >= lifetime || !last.contains(id) && (of ne queue))
    if stale then
      last = make(now)
      made = Some((now, queue))
    last.get(id)
