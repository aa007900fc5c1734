package burst.controller.scheduler

/** What is kept for the first flare that has to wait: it starts at `at` at the latest, as far as the ends of
  * the running flares are known, and `spare` is what each machine will then have left over. Others may start
  * before it as long as that stays true.
  */
final case class Reservation(at: Long, spare: Map[Place, Int]):

  /** The part of the cluster that is open to flares which will still be there at `at`. */
  def leftOver(view: ClusterView): ClusterView =
    ClusterView(view.machines.map(m => m.copy(free = m.free.min(spare.getOrElse(m.place, m.free)))))

  /** A flare was started beside it. */
  def beside(plan: Plan, end: Long): Reservation =
    if end <= at then this
    else
      copy(spare = plan.places.foldLeft(spare) { case (rest, (place, taken)) =>
        rest.updatedWith(place)(_.map(_ - taken))
      })

object Reservation:
  /** The earliest moment at which `place` finds room, and what it leaves; nothing when not even the end of
    * all that runs would make room (machines are down, overloaded or held by groups).
    *
    * More is free the later it is, so that the moment is found by halving: `O(log k)` plans for `k` running
    * flares.
    */
  def earliest(
      cluster: ClusterState,
      end: Walltime => Long,
      place: ClusterView => Either[NoPlacement, Plan]
  ): Option[Reservation] =
    val holdings =
      cluster.holdings.valuesIterator.filterNot(_.walltime.openEnded).map(h =>
        (end(h.walltime), h.taken)
      ).toVector
    val moments = holdings.map(_._1).distinct.sorted
    def at(index: Int): (ClusterView, Option[Plan]) =
      val view = cluster.viewAfter(holdings.iterator.filter(_._1 <= moments(index)).map(_._2))
      (view, place(view).toOption)
    var low = 0
    var high = moments.length - 1
    var best = Option.empty[Reservation]
    while low <= high do
      val middle = (low + high) >>> 1
      at(middle) match
        case (view, Some(plan)) =>
          val spare = view.machines.map(m => m.place -> (m.free - plan.places.getOrElse(m.place, 0))).toMap
          best = Some(Reservation(moments(middle), spare))
          high = middle - 1
        case _ => low = middle + 1
    best
