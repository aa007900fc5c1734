package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.protocol.DefinitionRef

/** Since when a flare holds its slots, and when it gives them back: `latest` is promised (the flare's
  * time-out ends it), `expected` is a guess. Microseconds by a clock that only goes on. Of an `openEnded`
  * one, a group's, nobody knows.
  */
final case class Walltime(
    definition: DefinitionRef,
    since: Long,
    expected: Long,
    latest: Long,
    openEnded: Boolean = false
):

  /** When to reckon with the slots at `now`. What has outlasted the guess is believed its promise; what has
    * outlasted that (a pack that does not end) may end at any moment.
    */
  def expectedAfter(now: Long): Long = if expected > now then expected else latestAfter(now)
  def latestAfter(now: Long): Long = latest.max(now)

/** How long flares hold their slots, learned from those that did. An immutable value.
  *
  * A definition is expected to take as long as the longest of its last few flares, whatever their size and
  * outcome: too long a guess keeps some slots idle, too short a one delays somebody. One that never ran is
  * expected to use up its time-out. `grace` is what packs get to end beyond it. Nothing of this is stored: a
  * controller that starts anew learns anew.
  */
final case class WalltimePredictor private (grace: Long, recent: Map[WalltimePredictor.Key, Vector[Long]]):
  import WalltimePredictor.*

  /** How long a flare of this kind will hold its slots, in microseconds, as far as one can tell. */
  def expected(request: FlareRequest): Long =
    recent.get(keyOf(request.definition)).fold(bound(request))(_.max.min(bound(request)))

  /** The walltime of a flare that is given its slots `now`. */
  def walltime(request: FlareRequest, now: Long): Walltime =
    if request.isGroup then Walltime(request.definition, now, Long.MaxValue, Long.MaxValue, openEnded = true)
    else Walltime(request.definition, now, now + expected(request), now + bound(request))

  /** A flare gave its last slots back. */
  def learn(walltime: Walltime, now: Long): WalltimePredictor =
    if walltime.openEnded then this else learned(walltime, now)

  private def learned(walltime: Walltime, now: Long): WalltimePredictor =
    val key = keyOf(walltime.definition)
    val known = recent.getOrElse(key, Vector.empty)
    val rest = if recent.size >= Definitions && known.isEmpty then recent.removed(recent.head(0)) else recent
    copy(recent = rest.updated(key, (known :+ (now - walltime.since).max(0)).takeRight(Flares)))

  private def bound(request: FlareRequest): Long = request.timeout * 1000 + grace

object WalltimePredictor:
  /** Namespace and name: a new version is expected to take as long as the last. */
  type Key = (String, String)

  /** Flares remembered of a definition, and definitions remembered: bounds of what this may grow to. */
  private val Flares = 5
  private val Definitions = 10000

  def empty(grace: Long): WalltimePredictor = WalltimePredictor(grace, Map.empty)

  private def keyOf(definition: DefinitionRef): Key = (definition.namespace, definition.name)
