package burst.controller.scheduler

import burst.controller.definition.Packing
import burst.controller.flare.FlareRequest
import burst.controller.placement.{ClusterView, NoPlacement, PlacementPolicy, Plan}
import burst.node.MonotonicTime
import burst.protocol.WarmPack
import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration

/** A flare that was given its slots, and the ticket it had in the queue until then. */
final case class Placement(flare: Waiting, plan: Plan, ticket: Option[QueueTicket] = None)

/** Hands out the free slots: cluster and queue in, cluster, queue and placements out. Pure, so that a
  * simulator can drive it with a clock of its own.
  *
  * ==Algorithm==
  * A round runs whenever a flare came or slots became free. It goes through the queue in its fair order
  * ([[FlareQueue.order]]) and starts what fits; a plan is reserved whole, in one step
  * ([[ClusterState.reserve]]), so that two flares which each find half of what they need never hold on to it.
  *
  * The first flare that does not fit gets a [[Reservation]]: the earliest moment at which the ends of running
  * flares make room for it, and the slots and memory it will take then. A later flare may start now only if
  * it does not delay that (backfill): it gives its slots back by that moment, or takes only what is left over
  * at it.
  *
  * ''Which ends.'' At first those that are expected from past runs ([[WalltimePredictor]]), for both sides:
  * slots are used well, and a guess that is wrong costs the waiting flare a little. Once it has waited for
  * `overtaking` only promises count, the time-outs: from then on it starts within the longest time-out of
  * what runs, whatever comes after it.
  *
  * What stands in a flare's way decides who may pass it otherwise:
  *   - ''its namespace's slot limit'', or that so many of its flares are being started ([[StartThrottle]]):
  *     everybody of other namespaces, and nobody of its own;
  *   - ''larger than what is up'' (or not overloaded): everybody. Were it to hold the others up, a lost
  *     machine would stop the cluster. It is refused at submission; this is for one whose machines went down
  *     while it waited, or that waits for a cluster to grow.
  *
  * A flare that would be split over machines of which one will soon have room for all of it may wait a
  * little, see [[DelayScheduling]].
  *
  * Of the flares that have to wait at most `depth` are looked at, which bounds a round; of one namespace's
  * not more than its share of that, so that none has to wait for a look behind hundreds of another's.
  *
  * ==Worked example==
  * 8 slots, 4 of them free; the others come back in 5 s. In order: A wants 8; B wants 2 and is expected to
  * take 3 s; C wants 2 for 60 s; D wants 2 for 4 s. A does not fit: it is reserved all 8 slots in 5 s,
  * leaving none over. B starts. C would still hold 2 in 5 s, so it waits. D starts. In 5 s A starts, and C
  * after it. Had the cluster 10 slots (6 free), A would leave 2 over, and C could start on those.
  */
final class SchedulingRound(policies: Map[Packing, PlacementPolicy], overtaking: FiniteDuration, depth: Int):
  import SchedulingRound.{Open, Outcome, Reserved}

  def run(
      cluster: ClusterState,
      queue: FlareQueue,
      now: MonotonicTime,
      slotLimit: String => Int,
      walltimes: WalltimePredictor,
      starts: String => Int = _ => Int.MaxValue,
      delays: DelayScheduling = DelayScheduling.Off
  ): Outcome =
    var outcome = Outcome(cluster, queue, Vector.empty, delays)
    lazy val soon = delays.soon(cluster)
    var open = Open(cluster.view, None)
    val share = (depth / queue.waitingTenants.max(1)).max(1)
    val started = mutable.Map.empty[String, Int].withDefaultValue(0)
    val looks = mutable.Map.empty[String, Int].withDefaultValue(share)
    var passed = 0
    val candidates = queue.order(done = looks(_) == 0)
    while candidates.hasNext && passed < depth && open.all.freeSlots > 0 do
      val next = candidates.next()
      val walltime = walltimes.walltime(next.request, now)
      val atLimit = outcome.cluster.used(next.tenant) + next.size > slotLimit(next.tenant) ||
        started(next.tenant) >= starts(next.tenant)
      def isDelayed(plan: Plan) =
        delays.mayWait(next.id, now) && DelayScheduling.wouldBeWhole(plan, next.request, soon, place)
      val placed = if atLimit then Left(None) else attempt(outcome.cluster, next, walltime, open)
      placed match
        case Right((_, plan)) if isDelayed(plan) =>
          passed += 1
          looks(next.tenant) -= 1
          outcome = outcome.copy(delays = outcome.delays.waits(next.id, now))
          if open.reserved.isEmpty then
            val kept = delays.kept(plan, next.request.memory, open.all, now)
            open = Open(open.all, Some(Reserved(kept, _.expectedAfter(now), isOfDelay = true)))
        case Right((after, plan)) =>
          started(next.tenant) += 1
          val placement = Placement(next, plan, outcome.queue.ticketOf(next))
          outcome = Outcome(
            after,
            outcome.queue.served(next),
            outcome.placed :+ placement,
            outcome.delays.over(next.id)
          )
          open = open.after(plan, next.request.memory, walltime, after.view)
        case Left(why) =>
          passed += 1
          looks(next.tenant) = if atLimit then 0 else looks(next.tenant) - 1
          // only where there is somebody who might pass
          val first = !open.isReserved && why.exists(_.isInstanceOf[NoPlacement.NotNow])
          if first && candidates.hasNext && passed < depth then
            open = Open(open.all, reserve(outcome.cluster, next, now))
    outcome

  private def attempt(
      cluster: ClusterState,
      next: Waiting,
      walltime: Walltime,
      open: Open
  ): Either[Option[NoPlacement], (ClusterState, Plan)] =
    val view = open.to(walltime)
    // too few slots whatever the policy: worth asking only while the answer may be a reservation
    if next.size > view.freeSlots && open.isReserved then Left(None)
    else
      val elsewhere = next.avoid.flatMap(invoker => place(view.without(invoker), next.request).toOption)
      elsewhere.fold(place(view, next.request))(Right(_)).left.map(Some(_)).flatMap { plan =>
        cluster.reserve(
          next.attemptId,
          next.tenant,
          plan,
          walltime,
          next.request.memory
        ).map((_, plan)).toRight(None)
      }

  /** What the policy says of a request on the machines that are up, `free` as they are. Those that are
    * avoided are taken where the others would not hold it even if they were empty.
    */
  def place(cluster: ClusterView, request: FlareRequest): Either[NoPlacement, Plan] =
    val seen = cluster.warmFor(WarmPack(request.definition, request.memory)).holding(request.memory)
    def on(view: ClusterView) = policies(request.packing).place(view, request.size, request.granularity)
    on(seen.trusted) match
      case Left(_: NoPlacement.Never) if seen.trusted ne seen => on(seen)
      case outcome => outcome

  /** Whether the machines that are up would hold a request if nothing ran on them. */
  def couldHold(cluster: ClusterView, request: FlareRequest): Boolean = place(cluster.emptied, request) match
    case Left(_: NoPlacement.Never) => false
    case _ => true

  private def reserve(cluster: ClusterState, flare: Waiting, now: MonotonicTime): Option[Reserved] =
    val end: Walltime => MonotonicTime =
      if flare.since + overtaking <= now then _.latestAfter(now) else _.expectedAfter(now)
    Reservation
      .earliest(cluster, flare.size, flare.request.memory, end, place(_, flare.request))
      .map(Reserved(_, end))

object SchedulingRound:
  final case class Outcome(
      cluster: ClusterState,
      queue: FlareQueue,
      placed: Vector[Placement],
      delays: DelayScheduling
  )

  /** The reservation of a round, and which ends of walltimes count. That of a flare which is only delayed
    * gives way to that of one which does not fit.
    */
  private final case class Reserved(
      reservation: Reservation,
      end: Walltime => MonotonicTime,
      isOfDelay: Boolean = false
  )

  /** What the flares of a round may take: `all` that is free, or what a reservation leaves over. */
  private final case class Open(all: ClusterView, reserved: Option[Reserved]):
    /** For a flare that does not fit. */
    def isReserved: Boolean = reserved.exists(!_.isOfDelay)

    private lazy val leftOver = reserved.fold(all)(_.reservation.leftOver(all))

    def to(walltime: Walltime): ClusterView =
      if reserved.exists(k => k.end(walltime) > k.reservation.at) then leftOver else all

    def after(plan: Plan, memory: Int, walltime: Walltime, view: ClusterView): Open =
      Open(view, reserved.map(k => k.copy(reservation = k.reservation.beside(plan, memory, k.end(walltime)))))
