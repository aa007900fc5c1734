package burst.controller.scheduler

import GangScheduler.Submit
import burst.protocol.FlareId

/** What invokers are too few for while others may be on their way to a scheduler that has just begun: as many
  * as may stand in the queue, if their inputs are short, as they are held here.
  */
private[scheduler] final class EarlySubmissions(settings: SchedulerSettings):
  private var waiting = Vector.empty[Submit]

  /** Whether it waits now; one that is sent again takes the place of the former. */
  def add(submit: Submit): Boolean =
    waiting = waiting.filterNot(submit.isAgain)
    val tenant = submit.request.definition.namespace
    val hasRoom = waiting.length < settings.queueLimit &&
      waiting.count(_.request.definition.namespace == tenant) < settings.namespaceQueueLimit
    val waits = hasRoom && submit.request.inputs.length <= Submitting.MostHeld
    if waits then waiting :+= submit
    waits

  /** Whether it was here. */
  def cancel(id: FlareId): Boolean =
    val (cancelled, left) = waiting.partition(_.id.contains(id))
    waiting = left
    cancelled.nonEmpty

  /** All of them, which are to be submitted again. */
  def take(): Vector[Submit] =
    val taken = waiting
    waiting = Vector.empty
    taken
