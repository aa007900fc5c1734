package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.controller.placement.{ClusterView, NoPlacement, Plan, Taken}
import burst.node.MonotonicTime
import burst.protocol.FlareId
import scala.concurrent.duration.{Duration, FiniteDuration}

/** A flare that one machine could hold, but of which now only several have enough free, waits a little for
  * one of those rather than be split: it is one pack then, whose workers have each other's memory, and the
  * platform has half to do. (Delay scheduling: Zaharia et al., EuroSys 2010; Spark's `locality.wait`.)
  *
  * It waits only where slots of such a machine are held by flares of a kind that is done within `longest`,
  * and only for as long itself, whatever comes of it: then it is split as any other. Others may pass it
  * meanwhile, if they will have ended by then or leave it what it could have begun with
  * ([[DelayScheduling.kept]]). `since` is when each that waits was first found to; it is known until the
  * flare is placed, as nobody waits so twice.
  */
final case class DelayScheduling(longest: FiniteDuration, since: Map[FlareId, MonotonicTime] = Map.empty):
  private[scheduler] def mayWait(id: FlareId, now: MonotonicTime): Boolean =
    longest > Duration.Zero && since.get(id).forall(_ > now - longest)

  private[scheduler] def waits(id: FlareId, now: MonotonicTime): DelayScheduling =
    if since.contains(id) then this else copy(since = since.updated(id, now))

  /** It was placed, or is gone. */
  def over(id: FlareId): DelayScheduling =
    if since.contains(id) then copy(since = since - id) else this

  /** How long until the first of those that wait so has waited enough. */
  def left(now: MonotonicTime): Option[FiniteDuration] =
    since.valuesIterator.map(_ + longest).filter(_ > now).minOption.map(_ - now)

  /** The cluster once all of those have ended that soon will. */
  private[scheduler] def soon(cluster: ClusterState): ClusterView =
    // By how long their kind takes, not by what is left: one that is overdue may end at any moment.
    def isShort(walltime: Walltime) = !walltime.openEnded && walltime.expected <= walltime.since + longest
    cluster.viewAfter(cluster.holdings.valuesIterator.filter(h => isShort(h.walltime)).map(_.taken))

  /** What others leave to a flare that waits so with this plan, of what is free now. */
  private[scheduler] def kept(plan: Plan, memory: Int, view: ClusterView, now: MonotonicTime): Reservation =
    val taken = plan.taken(memory)
    val spare = view.machines.map(m => m.location -> m.less(taken.getOrElse(m.location, Taken.Nothing)))
    Reservation(now + longest, spare.toMap)

object DelayScheduling:
  /** Nobody waits so. */
  val Off: DelayScheduling = DelayScheduling(Duration.Zero)

  /** Whether one of a plan's several machines would do by itself with what it will have `soon`. */
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
