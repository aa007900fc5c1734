package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.controller.placement.{ClusterView, NoPlacement, Packing, PlacementPolicy, Plan}
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
  * A round runs whenever a flare arrives or slots become free. It goes through the queue in its fair order
  * ([[FlareQueue.order]]) and starts what fits; a plan is reserved whole, in one step
  * ([[ClusterState.reserve]]), so that two flares never each hold half of what they need.
  *
  * The first flare that does not fit gets a [[Reservation]]: the earliest moment at which the ends of running
  * flares make room for it, and the slots and memory it will take then. A later flare may start now only if
  * it does not delay that (backfill): it releases its slots by that moment, or takes only what will be left
  * over then.
  *
  * ''Which ends.'' At first those expected from past runs ([[WalltimePredictor]]), for both sides: this uses
  * slots well, and a wrong guess costs the waiting flare little. Once it has waited for `overtaking` only
  * promises count, the time-outs: from then on it starts within the longest time-out of the running flares,
  * whatever arrives after it.
  *
  * In other cases the obstacle decides which flares may pass:
  *   - ''its namespace's slot limit'', or too many of its flares starting at the same time
  *     ([[StartThrottle]]): all flares of other namespaces, and none of its own;
  *   - ''larger than the machines that are up'' (and not overloaded): all flares. If it held up the others, a
  *     lost machine would stop the cluster. Such a flare is refused at submission; this is for one whose
  *     machines went down while it waited, or that waits for a cluster to grow.
  *
  * A flare that would be split over several machines, although one of them will soon have room for all of it,
  * may wait a little; see [[DelayScheduling]].
  *
  * A round examines at most `depth` flares that have to wait, which bounds its cost; and of one namespace no
  * more than its share of that, so that no flare goes unexamined behind hundreds of another namespace's.
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
          // only if there are flares that might pass
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
    // too few slots under any policy: trying it matters only if it can still lead to a reservation
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

  /** Asks the policy to place a request on the machines that are up, with their present free slots. Avoided
    * machines are used only if the others could not hold it even when empty.
    */
  def place(cluster: ClusterView, request: FlareRequest): Either[NoPlacement, Plan] =
    val seen = cluster.warmFor(WarmPack(request.definition, request.memory)).holding(request.memory)
    def on(view: ClusterView) = policies(request.packing).place(view, request.size, request.granularity)
    on(seen.trusted) match
      case Left(_: NoPlacement.Never) if seen.trusted ne seen => on(seen)
      case outcome => outcome

  /** Whether the machines that are up could hold a request if nothing ran on them. */
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

  /** The reservation of a round, and which ends of walltimes count. That of a flare which is only delayed is
    * replaced by that of one which does not fit.
    */
  private final case class Reserved(
      reservation: Reservation,
      end: Walltime => MonotonicTime,
      isOfDelay: Boolean = false
  )

  /** The slots that the flares of a round may take: `all` free ones, or those that a reservation leaves over.
    */
  private final case class Open(all: ClusterView, reserved: Option[Reserved]):
    /** Whether there is a reservation for a flare that does not fit. */
    def isReserved: Boolean = reserved.exists(!_.isOfDelay)

    private lazy val leftOver = reserved.fold(all)(_.reservation.leftOver(all))

    def to(walltime: Walltime): ClusterView =
      if reserved.exists(k => k.end(walltime) > k.reservation.at) then leftOver else all

    def after(plan: Plan, memory: Int, walltime: Walltime, view: ClusterView): Open =
      Open(view, reserved.map(k => k.copy(reservation = k.reservation.beside(plan, memory, k.end(walltime)))))
