package burst.controller.scheduler

import burst.node.MonotonicTime
import scala.concurrent.duration.FiniteDuration

/** Limits how many flares of one namespace are being started at the same time: a namespace that sends
  * hundreds of short ones a second would otherwise keep all processors busy with starting them, and all
  * others' flares waiting for one. Its own are not delayed by this, as they would wait for each other.
  *
  * A flare counts from its placement until it runs, for at most `longest`: one that is slow to start makes
  * the next ones wait no longer than that. A namespace may have a quarter as many as there are slots; if each
  * waits until it is stored, which takes as long as the rest, three eighths; and two in any case.
  */
final case class StartThrottle private (
    starting: Map[AttemptId, StartThrottle.Starting],
    longest: FiniteDuration,
    areStoredFirst: Boolean
):
  import StartThrottle.*

  def placed(attempt: AttemptId, tenant: String, at: MonotonicTime): StartThrottle =
    copy(starting = starting.updated(attempt, Starting(tenant, at)))

  /** The attempt runs, or never will. */
  def over(attempt: AttemptId): StartThrottle =
    if starting.contains(attempt) then copy(starting - attempt) else this

  def at(time: MonotonicTime): StartThrottle =
    if starting.valuesIterator.forall(_.since > time - longest) then this
    else copy(starting.filter((_, start) => start.since > time - longest))

  /** Returns how many more flares a namespace may have started now, in a cluster with this many slots. */
  def room(slots: Int): String => Int =
    val present = starting.valuesIterator.toVector.groupMapReduce(_.tenant)(_ => 1)(_ + _)
    val share = if areStoredFirst then slots * 3 / 8 else slots / 4
    val most = share.max(Least)
    tenant => most - present.getOrElse(tenant, 0)

object StartThrottle:
  private val Least = 2

  final case class Starting(tenant: String, since: MonotonicTime)

  def empty(longest: FiniteDuration, areStoredFirst: Boolean): StartThrottle =
    StartThrottle(Map.empty, longest, areStoredFirst)
