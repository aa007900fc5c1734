package burst.controller.scheduler

import GangScheduler.Submit
import burst.protocol.FlareId

/** Flares for which there are too few invokers while more may be on their way to a scheduler that has just
  * started: as many as may be in the queue, if their inputs are short, as they are held here.
  */
private[scheduler] final class EarlySubmissions(settings: SchedulerSettings):
  private var waiting = Vector.empty[Submit]

  /** Returns whether it waits now; one that is sent again replaces the earlier one. */
  def add(submit: Submit): Boolean =
    waiting = waiting.filterNot(submit.isAgain)
    val tenant = submit.request.definition.namespace
    val hasRoom = waiting.length < settings.queueLimit &&
      waiting.count(_.request.definition.namespace == tenant) < settings.namespaceQueueLimit
    val waits = hasRoom && submit.request.inputs.length <= Submitting.MostHeld
    if waits then waiting :+= submit
    waits

  /** Returns whether it was waiting. */
  def cancel(id: FlareId): Boolean =
    val (cancelled, left) = waiting.partition(_.id.contains(id))
    waiting = left
    cancelled.nonEmpty

  /** Takes all of them out, to be submitted again. */
  def take(): Vector[Submit] =
    val taken = waiting
    waiting = Vector.empty
    taken
