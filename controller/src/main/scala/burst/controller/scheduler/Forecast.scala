package burst.controller.scheduler

import burst.protocol.FlareId
import scala.collection.mutable

/** Where a queued flare stands: `position` 1 is next; `start` is when it will have its slots, if nothing
  * comes before it, and absent while the machines that are up are too few.
  */
final case class Standing(position: Int, start: Option[Long])

/** Guesses when a queued flare will start. Pure.
  *
  * Goes through the queue in its order and lends each flare its slots as soon as as many have come back as it
  * needs, those of running flares when they are expected ([[HoldTimes]]). Only numbers of slots are looked
  * at, not where they are, and nobody passes anybody: backfill and early ends make flares start sooner, units
  * that do not fit and flares of namespaces whose turn comes first later.
  *
  * Example: 8 slots, all lent until 12:00:05; waiting are A for 6 slots, expected to take 10 s, and B for 4.
  * A starts at 12:00:05, B at 12:00:15, as A leaves only 2.
  */
object Forecast:
  def standing(
      cluster: ClusterState,
      queue: FlareQueue,
      id: FlareId,
      now: Long,
      holdTimes: HoldTimes
  ): Option[Standing] =
    val ahead = queue.order.zipWithIndex
    val ends = mutable.PriorityQueue.empty[(Long, Int)](using Ordering.by[(Long, Int), Long](_._1).reverse)
    cluster.holdings.valuesIterator.filterNot(_.lease.openEnded).foreach { holding =>
      ends += ((holding.lease.expectedAfter(now), cluster.usable(holding)))
    }
    var free = cluster.view.freeSlots
    var moment = now
    var found = Option.empty[Standing]
    while found.isEmpty && ahead.hasNext do
      val (flare, index) = ahead.next()
      // one that is larger than what is up holds up nobody
      val possible = flare.size <= cluster.view.totalSlots
      if possible then
        while free < flare.size && ends.nonEmpty do
          val (end, slots) = ends.dequeue()
          moment = moment.max(end)
          free += slots
      val starts = Option.when(possible && free >= flare.size)(moment)
      starts.foreach { start =>
        free -= flare.size
        if !flare.request.isGroup then ends += ((start + holdTimes.expected(flare.request), flare.size))
      }
      if flare.id == id then found = Some(Standing(index + 1, starts))
    found
