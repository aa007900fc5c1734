package burst.controller.scheduler

import burst.controller.flare.Flare
import burst.protocol.{Failure, FailureKind, InvokerId, Operation}

/** Whether a flare may get another attempt: as many as it asked for, and, beyond that, if nothing of it had
  * begun. `unplaced` of its attempts found no room, and packs were `asked` for unless it was still being
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

  /** Whether there was less room than expected where it was placed. That does not count as an attempt, as no
    * worker of it has begun.
    */
  def foundNoRoom(why: Cause): Boolean =
    flare.started.isEmpty && flare.request.memberOf.isEmpty && progress.exists: p =>
      unplaced + 1 < MostPlacings && lackedPods(p, why.failure) ||
        unplaced < mostRefusals && wasTurnedAway(p, why.failure)

  /** Whether the cluster had less room than its invoker thought: all of the flare's pods are deleted, so that
    * of two flares which each have some of what they need, one goes first.
    */
  private def lackedPods(progress: AttemptProgress, why: Failure): Boolean =
    why.kind == FailureKind.StartFailed && why.operation.contains(Operation.Schedule) &&
      progress.plan.packs.exists(_.node.isDefined)

  /** Whether the container that the call was to join was about to be removed. */
  private def wasTurnedAway(progress: AttemptProgress, why: Failure): Boolean =
    why.kind == FailureKind.PackLost && why.operation.contains(Operation.Start) && !progress.begins &&
      progress.plan.packs.exists(_.shared.isDefined)

  /** As many as are sent to a container at the same time: each time at least the first of those that wait has
    * got a container of its own, so that after this many times the call is the first itself.
    */
  private def mostRefusals: Int = flare.request.definition.concurrency.max(MostPlacings)

  /** The invoker on which it failed to start. */
  def unstarted(why: Cause): Option[InvokerId] = Option(why.failure)
    .filter(f => f.kind == FailureKind.StartFailed || f.operation.exists(Operation.StartSteps))
    .flatMap(_.invoker)

  /** The number of attempts, not counting those for which there was no room. */
  private def tries: Int = flare.attempt - unplaced

  /** The scheduler changed while packs were being requested: no worker has begun, as some packs were never
    * requested.
    */
  private def neverAskedFor(why: Cause): Boolean =
    why.failure.kind == FailureKind.ControllerRestarted && tries < MostStarts

  /** Its machines were lost before any was asked for a pack: that does not count as an attempt. */
  private def neverAsked(why: Cause): Boolean =
    !asked && flare.request.memberOf.isEmpty && tries < MostStarts &&
      why.failure.kind == FailureKind.InvokerLost

  /** Whether this is an invocation whose program never began, through no fault of its own: nothing is done
    * twice. If a machine or a container is lost, it is unknown whether a program that was about to begin
    * there did.
    */
  private def startsElsewhere(why: Cause): Boolean =
    flare.request.activation.exists(!_.burst) && flare.started.isEmpty && !progress.exists(_.begins) &&
      tries < MostStarts && FlareEnding.isOfMachine(why.failure)

private[scheduler] object FlareAttempts:
  /** How many times the platform tries to start an invocation. */
  val MostStarts = 3

  /** How often a flare may be placed although the cluster then has no room. */
  val MostPlacings = 10
