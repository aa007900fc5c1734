package burst.controller.scheduler

import burst.controller.placement.{ClusterView, Location, Machine, NoPlacement, Plan, Taken}
import burst.node.MonotonicTime

/** Slots kept for the first flare that has to wait: it starts at `at` at the latest, as far as the ends of
  * the running flares are known, and `spare` is what each machine will then have left over, slots and memory.
  * Others may start before it as long as that stays true.
  */
final case class Reservation(at: MonotonicTime, spare: Map[Location, Machine]):

  /** The part of the cluster that is open to flares which will still be there at `at`. */
  def leftOver(view: ClusterView): ClusterView =
    ClusterView(view.machines.map(m => spare.get(m.location).fold(m)(m.within)))

  /** The reservation once a flare was started beside it. */
  def beside(plan: Plan, memory: Int, end: MonotonicTime): Reservation =
    if end <= at then this
    else
      copy(spare = plan.taken(memory).foldLeft(spare) { case (rest, (location, taken)) =>
        rest.updatedWith(location)(_.map(_.less(taken)))
      })

object Reservation:
  /** Finds the earliest moment at which `place` finds room for `size` workers of `memory` MiB, and what it
    * leaves; nothing if not even the end of all running flares would make room (machines are down, overloaded
    * or held by groups).
    *
    * More is free the later it is. While there are fewer slots than workers no plan is needed; from then on a
    * binary search finds the moment with `O(log k)` plans for `k` running flares, and mostly with one: a
    * sufficient number of slots can nearly always be used.
    */
  def earliest(
      cluster: ClusterState,
      size: Int,
      memory: Int,
      end: Walltime => MonotonicTime,
      place: ClusterView => Either[NoPlacement, Plan]
  ): Option[Reservation] =
    val holdings = cluster.holdings.valuesIterator.filterNot(_.walltime.openEnded).map(holding =>
      (end(holding.walltime), holding)
    ).toArray.sortBy(_._1)
    // by index, the holdings that have ended: all those of the same moment, or none
    def isMoment(index: Int) = index + 1 == holdings.length || holdings(index + 1)._1 > holdings(index)._1
    val moments = holdings.indices.filter(isMoment)
    val slots = holdings.iterator.scanLeft(cluster.view.freeSlots)((free, at) => free + cluster.usable(at._2))
    val enough = slots.drop(1).indexWhere(_ >= size)
    def at(index: Int): (ClusterView, Option[Plan]) =
      val view = cluster.viewAfter(holdings.iterator.take(moments(index) + 1).map(_._2.taken))
      (view, place(view).toOption)
    val first = if enough < 0 then moments.length else moments.indexWhere(_ >= enough)
    var (low, high) = (first, moments.length - 1)
    var best = Option.empty[Reservation]
    while low <= high do
      // the first that may do is likely to
      val middle = if low == first then low else (low + high) >>> 1
      at(middle) match
        case (view, Some(plan)) =>
          val taken = plan.taken(memory)
          val spare =
            view.machines.map(m => m.location -> m.less(taken.getOrElse(m.location, Taken.Nothing))).toMap
          best = Some(Reservation(holdings(moments(middle))._1, spare))
          high = middle - 1
        case _ => low = middle + 1
    best
