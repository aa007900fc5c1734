package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.protocol.WantedPacks
import scala.collection.mutable

/** What waits that clusters with nodes have no room for now, as packs: what they would have to grow by. Pure.
  *
  * Goes through the first of the queue in its order: what is free is for them, one after the other, and of
  * the first that it does not do for, and of all after it, the rest is missing; all of one whose packs no
  * machine could hold. Flares that their namespace's limit holds up ask for nothing. Where neither flare nor
  * platform says how large packs are, they are as the largest machine.
  *
  * Example: 6 slots are free on nodes of 4. Waiting are A for 8 and B for 6 in packs of 3: missing is a pack
  * of 4 for A, which lacks 2, and two of 3.
  */
private[scheduler] object Demand:
  /** Flares that are looked at, and packs that are told. */
  private val MostLooks = 64
  private val MostPacks = 100

  def of(
      cluster: ClusterState,
      queue: FlareQueue,
      slotLimit: String => Int,
      unit: Option[Int],
      couldHold: FlareRequest => Boolean
  ): Vector[WantedPacks] =
    val view = cluster.view
    var free = view.freeSlots
    var grows = cluster.most.fold(0L)(_ - view.totalSlots)
    val used = mutable.Map.empty[String, Int]
    val wanted = mutable.LinkedHashMap.empty[(Int, Int), Int]
    var packs = 0
    for flare <- queue.order.take(MostLooks) if grows > 0 && packs < MostPacks do
      val after = used.getOrElse(flare.tenant, cluster.used(flare.tenant)) + flare.size
      if after <= slotLimit(flare.tenant) then
        used.update(flare.tenant, after)
        val has = if couldHold(flare.request) || flare.size > view.totalSlots then free.min(flare.size) else 0
        free -= has
        val missing = (flare.size - has).toLong.min(grows)
        if missing > 0 then
          val pack =
            flare.request.granularity.orElse(unit).getOrElse(view.largestMachine).min(flare.size).max(1)
          val count = ((missing + pack - 1) / pack).min(MostPacks - packs).toInt
          packs += count
          grows -= missing
          val kind = (pack, flare.request.memory)
          wanted.update(kind, wanted.getOrElse(kind, 0) + count)
    wanted.iterator.map { case ((workers, memory), count) => WantedPacks(workers, memory, count) }.toVector
