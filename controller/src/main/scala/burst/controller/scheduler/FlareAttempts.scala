package burst.controller.scheduler

import burst.controller.flare.Flare
import burst.protocol.{Failure, FailureKind, InvokerId, Operation}

/** Whether a flare may be tried once more: as often as it asked for, and, beyond that, where nothing of it
  * had begun. `unplaced` of its attempts found no room, and packs were `asked` for unless it was still being
  * placed.
  */
private[scheduler] final case class FlareAttempts(
    flare: Flare,
    progress: Option[AttemptProgress],
    unplaced: Int,
    asked: Boolean
):
  import FlareAttempts.{MostPlacings, MostStarts}

  def allowAnother(why: Cause): Boolean =
    neverAskedFor(why) || foundNoRoom(why) || FlareEnding.retriable(why) &&
      (tries <= flare.request.retries || neverAsked(why) || startsElsewhere(why))

  /** Where it was placed there was less room than was thought. That is no attempt, as no worker of it has
    * begun.
    */
  def foundNoRoom(why: Cause): Boolean =
    flare.started.isEmpty && flare.request.memberOf.isEmpty && progress.exists: p =>
      unplaced + 1 < MostPlacings && lackedPods(p, why.failure) ||
        unplaced < mostRefusals && wasTurnedAway(p, why.failure)

  /** The cluster had less than its invoker thought: all of the flare's pods are given back, so that of two
    * flares which each have some of what they need one goes first.
    */
  private def lackedPods(progress: AttemptProgress, why: Failure): Boolean =
    why.kind == FailureKind.StartFailed && why.operation.contains(Operation.Schedule) &&
      progress.plan.packs.exists(_.node.isDefined)

  /** The container was about to go that the call was to join. */
  private def wasTurnedAway(progress: AttemptProgress, why: Failure): Boolean =
    why.kind == FailureKind.PackLost && why.operation.contains(Operation.Start) && !progress.begins &&
      progress.plan.packs.exists(_.shared.isDefined)

  /** As many as are sent to a container at once: each time at least the first of those that wait has had one
    * of its own, so that by then it is the first itself.
    */
  private def mostRefusals: Int = flare.request.definition.concurrency.max(MostPlacings)

  /** Where it failed to start. */
  def unstarted(why: Cause): Option[InvokerId] = Option(why.failure)
    .filter(f => f.kind == FailureKind.StartFailed || f.operation.exists(Operation.StartSteps))
    .flatMap(_.invoker)

  /** Which attempt it is but for those for which there was no room. */
  private def tries: Int = flare.attempt - unplaced

  /** The scheduler changed while packs were being asked for: no worker has begun, as some of them were not.
    */
  private def neverAskedFor(why: Cause): Boolean =
    why.failure.kind == FailureKind.ControllerRestarted && tries < MostStarts

  /** Its machines went before any was asked for a pack: that is no attempt. */
  private def neverAsked(why: Cause): Boolean =
    !asked && flare.request.memberOf.isEmpty && tries < MostStarts &&
      why.failure.kind == FailureKind.InvokerLost

  /** An invocation whose program never began, by no fault of its own: nothing is done twice. Of a machine, or
    * a container, that is lost nobody knows whether it began what was about to begin there.
    */
  private def startsElsewhere(why: Cause): Boolean =
    flare.request.activation.exists(!_.burst) && flare.started.isEmpty && !progress.exists(_.begins) &&
      tries < MostStarts && FlareEnding.isOfMachine(why.failure)

private[scheduler] object FlareAttempts:
  /** How often an invocation is tried to be started. */
  val MostStarts = 3

  /** How often a flare is placed for which a cluster then has no room. */
  val MostPlacings = 10
