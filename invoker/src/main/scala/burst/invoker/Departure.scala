package burst.invoker

import org.apache.pekko.Done
import org.apache.pekko.actor.typed.ActorRef

/** How an invoker's machine is left: every heartbeat says so, and it is done when enough of them were heard
  * while nothing runs or is to come. Belongs to the invoker's actor.
  */
private final class Departure:
  import Departure.BeatsToBeKnown

  private var begun = false
  private var leavers = Vector.empty[ActorRef[Done]]

  /** Heartbeats that were heard since it said so and nothing runs or is to come, one of each interval: what
    * the last pack told has been heard before the second of them. Of a scheduler that does not say whether
    * more is on its way, what it had placed has most probably come by then.
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

  /** A heartbeat was heard; where the scheduler says whether the machine is free, that alone tells. */
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
