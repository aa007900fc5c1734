package burst.controller.scheduler

import burst.controller.definition.Packing
import burst.controller.flare.FlareRequest

/** A flare that was given its slots. */
final case class Placement(flare: Waiting, plan: Plan)

/** Hands out the free slots: cluster and queue in, cluster, queue and placements out. Pure, so that a
  * simulator can drive it with a clock of its own.
  *
  * ==Algorithm==
  * A round runs whenever a flare came or slots became free. It goes through the queue in its fair order
  * ([[FlareQueue.order]]) and starts what fits; a plan is reserved whole, in one step
  * ([[ClusterState.reserve]]), so that two flares which each find half of what they need never hold on to it.
  *
  * The first flare that does not fit gets a [[Reservation]]: the earliest moment at which the ends of running
  * flares make room for it, and the slots it will take then. A later flare may start now only if it does not
  * delay that (backfill): it gives its slots back by that moment, or takes only slots left over at it.
  *
  * ''Which ends.'' At first those that are expected from past runs ([[HoldTimes]]), for both sides: slots are
  * used well, and a guess that is wrong costs the waiting flare a little. Once it has waited for `overtaking`
  * only promises count, the time-outs: from then on it starts within the longest time-out of what runs,
  * whatever comes after it.
  *
  * What stands in a flare's way decides who may pass it otherwise:
  *   - ''its namespace's slot limit'': everybody of other namespaces, and nobody of its own;
  *   - ''larger than what is up'' (or not overloaded): everybody. Were it to hold the others up, a lost
  *     machine would stop the cluster. It is refused at submission; this is for one whose machines went down
  *     while it waited.
  *
  * Of the flares that have to wait at most `depth` are looked at, which bounds a round.
  *
  * ==Worked example==
  * 8 slots, 4 of them free; the others come back in 5 s. In order: A wants 8; B wants 2 and is expected to
  * take 3 s; C wants 2 for 60 s; D wants 2 for 4 s. A does not fit: it is reserved all 8 slots in 5 s,
  * leaving none over. B starts. C would still hold 2 in 5 s, so it waits. D starts. In 5 s A starts, and C
  * after it. Had the cluster 10 slots (6 free), A would leave 2 over, and C could start on those.
  */
final class SchedulingRound(policies: Map[Packing, PlacementPolicy], overtakingMicros: Long, depth: Int):
  import SchedulingRound.Outcome

  def run(
      cluster: ClusterState,
      queue: FlareQueue,
      now: Long,
      slotLimit: String => Int,
      holdTimes: HoldTimes
  ): Outcome =
    var outcome = Outcome(cluster, queue, Vector.empty)
    var reserved = Option.empty[(Reservation, Lease => Long)]
    var atLimit = Set.empty[String]
    var passed = 0
    val candidates = queue.order
    while candidates.hasNext && passed < depth && outcome.cluster.view.freeSlots > 0 do
      val next = candidates.next()
      val books = outcome.cluster
      val placed =
        if atLimit(next.tenant) then None
        else if books.used(next.tenant) + next.size > slotLimit(next.tenant) then
          atLimit += next.tenant
          None
        else
          val lease = holdTimes.lease(next.request, now)
          val open = reserved.fold(books.view)((kept, end) => kept.open(books.view, end(lease)))
          // too few slots whatever the policy: worth asking only for the answer "not now"
          if next.size > open.freeSlots && reserved.isDefined then None
          else
            place(open, next.request) match
              case Right(plan) => books.reserve(next.owner, next.tenant, plan, lease).map((_, plan, lease))
              case Left(NoPlacement.NotNow(_)) if reserved.isEmpty =>
                reserved = reserve(books, next, now)
                None
              case _ => None
      placed match
        case Some((after, plan, lease)) =>
          reserved = reserved.map((kept, end) => (kept.beside(plan, end(lease)), end))
          outcome = Outcome(after, outcome.queue.served(next), outcome.placed :+ Placement(next, plan))
        case None => passed += 1
    outcome

  /** What the policy says of a request on the machines that are up, `free` as they are. */
  def place(cluster: ClusterView, request: FlareRequest): Either[NoPlacement, Plan] =
    policies(request.packing).place(cluster, request.size, request.granularity)

  private def reserve(books: ClusterState, flare: Waiting, now: Long): Option[(Reservation, Lease => Long)] =
    val end: Lease => Long =
      if now - flare.since >= overtakingMicros then _.latestAfter(now) else _.expectedAfter(now)
    Reservation.earliest(books, end, place(_, flare.request)).map((_, end))

object SchedulingRound:
  final case class Outcome(cluster: ClusterState, queue: FlareQueue, placed: Vector[Placement])
