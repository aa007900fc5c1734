package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.protocol.FlareId

/** A flare that one machine could hold, but of which now only several have enough free, waits a little for
  * one of those rather than be split: it is one pack then, whose workers have each other's memory, and the
  * platform has half to do. (Delay scheduling: Zaharia et al., EuroSys 2010; Spark's `locality.wait`.)
  *
  * It waits only where slots of such a machine are held by flares of a kind that is done within `longest`
  * microseconds, and only for as long itself, whatever comes of it: then it is split as any other. Others may
  * pass it meanwhile. `since` is when each of those that wait so was first found to.
  */
final case class DelayScheduling(longest: Long, since: Map[FlareId, Long] = Map.empty):
  def isAnyWaiting: Boolean = since.nonEmpty

  private[scheduler] def mayWait(id: FlareId, now: Long): Boolean =
    longest > 0 && since.get(id).forall(_ > now - longest)

  private[scheduler] def waits(id: FlareId, now: Long): DelayScheduling =
    if since.contains(id) then this else copy(since = since.updated(id, now))

  /** It was placed, or waits no more. */
  def over(id: FlareId): DelayScheduling =
    if since.contains(id) then copy(since = since - id) else this

  /** The cluster once all of those have ended that soon will. */
  private[scheduler] def soon(cluster: ClusterState): ClusterView =
    // By how long their kind takes, not by what is left: who is overdue may end at any moment.
    def isShort(walltime: Walltime) = !walltime.openEnded && walltime.expected - walltime.since <= longest
    cluster.viewAfter(cluster.holdings.valuesIterator.filter(h => isShort(h.walltime)).map(_.taken))

object DelayScheduling:
  /** Nobody waits so. */
  val Off: DelayScheduling = DelayScheduling(0)

  /** Whether one of a plan's several machines would do by itself with what it will have `soon`. */
  private[scheduler] def wouldBeWhole(
      plan: Plan,
      request: FlareRequest,
      soon: => ClusterView,
      place: (ClusterView, FlareRequest) => Either[NoPlacement, Plan]
  ): Boolean =
    val places = plan.packs.iterator.map(_.place).toSet
    places.size > 1 && places.exists(at => place(soon.only(at), request).isRight)
