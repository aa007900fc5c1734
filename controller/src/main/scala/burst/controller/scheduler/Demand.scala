package burst.controller.scheduler

import burst.protocol.WantedPacks
import scala.collection.mutable

/** The packs of waiting flares for which clusters with nodes have no room now: by how much they would have to
  * grow. Pure.
  *
  * Goes through the head of the queue in its order, each namespace up to its share: free slots that are large
  * enough for a flare's packs go to it, and the rest is missing. A namespace that reaches its limit requests
  * nothing from there on. If neither flare nor platform sets the size of packs, they are as large as the
  * largest machine holds. Packs that no machine could hold are requested last: larger machines may not exist.
  *
  * Example: 6 slots are free on nodes of 4. A waits for 8 slots and B for 6 in packs of 3: missing are a pack
  * of 4 for A, which lacks 2, and two of 3.
  */
private[scheduler] object Demand:
  /** How many flares are examined, and how many packs are reported. */
  private val MostLooks = 64
  private val MostPacks = 100

  private final case class Missing(pack: Int, memory: Int, workers: Int, fits: Boolean)

  def of(
      cluster: ClusterState,
      queue: FlareQueue,
      slotLimit: String => Int,
      unit: Option[Int]
  ): Vector[WantedPacks] =
    val missing = lacking(cluster, queue, slotLimit, unit)
    var grows = cluster.most.fold(0L)(_ - cluster.view.totalSlots).max(0L)
    var packs = 0
    val wanted = mutable.LinkedHashMap.empty[(Int, Int), Int]
    for it <- missing.filter(_.fits) ++ missing.filterNot(_.fits) if grows > 0 && packs < MostPacks do
      val workers = grows.min(it.workers.toLong)
      val count = ((workers + it.pack - 1) / it.pack).toInt.min(MostPacks - packs)
      grows -= workers
      packs += count
      wanted.update((it.pack, it.memory), wanted.getOrElse((it.pack, it.memory), 0) + count)
    wanted.iterator.map { case ((workers, memory), count) =>
      WantedPacks(workers = workers, memory = memory, count = count)
    }.toVector

  private def lacking(
      cluster: ClusterState,
      queue: FlareQueue,
      slotLimit: String => Int,
      unit: Option[Int]
  ): Vector[Missing] =
    val view = cluster.view
    var free = view.freeSlots
    val share = (MostLooks / queue.waitingTenants.max(1)).max(1)
    val looks = mutable.Map.empty[String, Int].withDefaultValue(share)
    val used = mutable.Map.empty[String, Int]
    val missing = Vector.newBuilder[Missing]
    for flare <- queue.order(done = looks(_) <= 0).take(MostLooks) do
      looks(flare.tenant) -= 1
      val after = used.getOrElse(flare.tenant, cluster.used(flare.tenant)) + flare.size
      if after > slotLimit(flare.tenant) then looks(flare.tenant) = 0
      else
        used.update(flare.tenant, after)
        val seen = view.holding(flare.request.memory)
        val least = flare.request.granularity.getOrElse(1)
        val usable = seen.machines.iterator.map(machine => machine.free / least * least).sum
        val has = usable.min(free).min(flare.size)
        free -= has
        if has < flare.size then
          val largest = seen.largestMachine
          val pack = flare.request.granularity.orElse(unit).getOrElse(largest).min(flare.size).max(1)
          missing += Missing(
            pack = pack,
            memory = flare.request.memory,
            workers = flare.size - has,
            fits = pack <= largest
          )
    missing.result()
