package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.node.MonotonicTime
import burst.protocol.DefinitionRef
import scala.concurrent.duration.FiniteDuration

/** How long a flare holds its slots: from `since` until `latest`, which is promised (its time-out ends it);
  * `expected` is an estimate. The end of an `openEnded` one, a group's, is unknown.
  */
final case class Walltime(
    definition: DefinitionRef,
    since: MonotonicTime,
    expected: MonotonicTime,
    latest: MonotonicTime,
    openEnded: Boolean = false
):

  /** When to expect the slots, as seen at `now`: a flare that has outlasted the estimate is expected at
    * `latest`; one that has outlasted that, too (a pack that does not end), at any moment.
    */
  def expectedAfter(now: MonotonicTime): MonotonicTime = if expected > now then expected else latestAfter(now)
  def latestAfter(now: MonotonicTime): MonotonicTime = latest.max(now)

/** How long flares hold their slots, learned from those that did. An immutable value.
  *
  * A definition is expected to take as long as the longest of its last few flares, whatever their size and
  * outcome: an estimate that is too long leaves some slots idle, one that is too short delays a flare. A
  * definition that never ran is expected to use its whole time-out. `grace` is the time that packs get to end
  * after it. None of this is stored: a controller that restarts begins to learn again.
  */
final case class WalltimePredictor private (
    grace: FiniteDuration,
    recent: Map[WalltimePredictor.Key, Vector[FiniteDuration]]
):
  import MonotonicTime.Never
  import WalltimePredictor.*

  /** When a flare of this kind that gets its slots at `start` is expected to release them. */
  def expectedEnd(request: FlareRequest, start: MonotonicTime): MonotonicTime =
    val latest = latestEnd(request, start)
    recent.get(keyOf(request.definition)).fold(latest)(lasted => (start + lasted.max).min(latest))

  /** The walltime of a flare that gets its slots `now`. */
  def walltime(request: FlareRequest, now: MonotonicTime): Walltime =
    if request.isGroup then
      Walltime(request.definition, since = now, expected = Never, latest = Never, openEnded = true)
    else
      Walltime(
        request.definition,
        since = now,
        expected = expectedEnd(request, now),
        latest = latestEnd(request, now)
      )

  /** A flare has released its last slots. */
  def learn(walltime: Walltime, now: MonotonicTime): WalltimePredictor =
    if walltime.openEnded then this else learned(walltime, now)

  private def learned(walltime: Walltime, now: MonotonicTime): WalltimePredictor =
    val key = keyOf(walltime.definition)
    val known = recent.getOrElse(key, Vector.empty)
    val rest = if recent.size >= Definitions && known.isEmpty then recent.removed(recent.head(0)) else recent
    copy(recent = rest.updated(key, (known :+ (now - walltime.since)).takeRight(Flares)))

  private def latestEnd(request: FlareRequest, start: MonotonicTime): MonotonicTime =
    start + request.timeout + grace

object WalltimePredictor:
  /** Namespace and name: a new version is expected to take as long as the last. */
  type Key = (String, String)

  /** Flares remembered per definition, and definitions remembered: bounds on the size of this record. */
  private val Flares = 5
  private val Definitions = 10000

  def empty(grace: FiniteDuration): WalltimePredictor = WalltimePredictor(grace, Map.empty)

  private def keyOf(definition: DefinitionRef): Key = (definition.namespace, definition.name)
