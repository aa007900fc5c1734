package burst.invoker

import org.apache.pekko.Done
import org.apache.pekko.actor.typed.ActorRef

/** How an invoker leaves: every heartbeat announces it, and it is complete when enough of them were heard
  * while nothing runs or is on its way. Belongs to the invoker's actor.
  */
private final class Departure:
  import Departure.BeatsToBeKnown

  private var begun = false
  private var leavers = Vector.empty[ActorRef[Done]]

  /** Heartbeats heard since it announced its leaving and while nothing runs or is on its way, one per
    * interval: the last pack's reports have been heard before the second of them. If the scheduler does not
    * say whether more is on its way, whatever it had placed has most probably arrived by then.
    */
  private var heard = 0
  private var free = false
  private var beaten = false

  def isBegun: Boolean = begun

  def begin(replyTo: ActorRef[Done]): Unit =
    begun = true
    leavers :+= replyTo

  /** An interval of heartbeats begins. */
  def beat(): Unit = beaten = begun

  /** A heartbeat was heard; if the scheduler says whether the machine is free, only that counts. */
  def hear(free: Option[Boolean], isIdle: Boolean): Unit =
    this.free = free.getOrElse(true)
    if !isIdle || !this.free then heard = 0
    else if beaten then heard += 1
    beaten = false

  def answerIfOver(isIdle: Boolean): Unit = if free && heard >= BeatsToBeKnown && isIdle then
    leavers.foreach(_ ! Done)
    leavers = Vector.empty

private object Departure:
  private val BeatsToBeKnown = 2
