package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.controller.placement.{ClusterView, NoPlacement, Plan, Taken}
import burst.node.MonotonicTime
import burst.protocol.FlareId
import scala.concurrent.duration.{Duration, FiniteDuration}

/** A flare that one machine could hold, but for which now only several together have enough free slots, waits
  * a little for one of those instead of being split: it is then one pack, whose workers share memory, and the
  * platform has half the work. (Delay scheduling: Zaharia et al., EuroSys 2010; Spark's `locality.wait`.)
  *
  * It waits only if slots of such a machine are held by flares of a kind that ends within `longest`, and for
  * no longer than that itself; then it is split like any other. Others may pass it in the meantime if they
  * will have ended by then or leave it the slots it could have started on ([[DelayScheduling.kept]]). `since`
  * is when each flare began to wait; it is kept until the flare is placed, as no flare waits twice.
  */
final case class DelayScheduling(longest: FiniteDuration, since: Map[FlareId, MonotonicTime] = Map.empty):
  private[scheduler] def mayWait(id: FlareId, now: MonotonicTime): Boolean =
    longest > Duration.Zero && since.get(id).forall(_ > now - longest)

  private[scheduler] def waits(id: FlareId, now: MonotonicTime): DelayScheduling =
    if since.contains(id) then this else copy(since = since.updated(id, now))

  /** The flare was placed, or no longer waits. */
  def over(id: FlareId): DelayScheduling =
    if since.contains(id) then copy(since = since - id) else this

  /** How long until the first waiting flare has waited long enough. */
  def left(now: MonotonicTime): Option[FiniteDuration] =
    since.valuesIterator.map(_ + longest).filter(_ > now).minOption.map(_ - now)

  /** The cluster once all flares that will soon end have done so. */
  private[scheduler] def soon(cluster: ClusterState): ClusterView =
    // Judged by how long their kind takes, not by the time left: one that is overdue may end at any moment.
    def isShort(walltime: Walltime) = !walltime.openEnded && walltime.expected <= walltime.since + longest
    cluster.viewAfter(cluster.holdings.valuesIterator.filter(h => isShort(h.walltime)).map(_.taken))

  /** What others must leave, of the slots free now, to a flare that waits with this plan. */
  private[scheduler] def kept(plan: Plan, memory: Int, view: ClusterView, now: MonotonicTime): Reservation =
    val taken = plan.taken(memory)
    val spare = view.machines.map(m => m.location -> m.less(taken.getOrElse(m.location, Taken.Nothing)))
    Reservation(now + longest, spare.toMap)

object DelayScheduling:
  /** No flare waits for a single machine. */
  val Off: DelayScheduling = DelayScheduling(Duration.Zero)

  /** Whether one of a plan's several machines would suffice with what it will have free `soon`. */
  private[scheduler] def wouldBeWhole(
      plan: Plan,
      request: FlareRequest,
      soon: => ClusterView,
      place: (ClusterView, FlareRequest) => Either[NoPlacement, Plan]
  ): Boolean =
    val locations = plan.packs.iterator.map(_.location).toSet
    locations.size > 1 && soon.machines.exists: machine =>
      machine.free >= request.size && locations(machine.location) &&
        place(ClusterView(Vector(machine)), request).isRight
