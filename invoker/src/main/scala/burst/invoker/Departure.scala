package burst.invoker

import org.apache.pekko.Done
import org.apache.pekko.actor.typed.ActorRef

/** How an invoker leaves: every heartbeat announces it, and it is complete when enough of them were
  * acknowledged while nothing runs or is on its way. Belongs to the invoker's actor.
  */
private final class Departure:
  import Departure.RequiredAcknowledgements

  private var begun = false
  private var waiting = Vector.empty[ActorRef[Done]]

  /** Heartbeats acknowledged since it announced its leaving and while nothing runs or is on its way, one per
    * interval: the last pack's reports have been received before the second of them. If the scheduler does
    * not say whether more is on its way, whatever it had placed has most probably arrived by then.
    */
  private var acknowledgements = 0
  private var free = false
  private var unacknowledged = false

  def isBegun: Boolean = begun

  def begin(replyTo: ActorRef[Done]): Unit =
    begun = true
    waiting :+= replyTo

  /** An interval of heartbeats begins. */
  def beat(): Unit = unacknowledged = begun

  /** A heartbeat was acknowledged; if the scheduler says whether the machine is free, only that counts. */
  def onAcknowledged(free: Option[Boolean], isIdle: Boolean): Unit =
    this.free = free.getOrElse(true)
    if !isIdle || !this.free then acknowledgements = 0
    else if unacknowledged then acknowledgements += 1
    unacknowledged = false

  def answerIfOver(isIdle: Boolean): Unit =
    if free && acknowledgements >= RequiredAcknowledgements && isIdle then
      waiting.foreach(_ ! Done)
      waiting = Vector.empty

private object Departure:
  private val RequiredAcknowledgements = 2
