package burst.protocol.link

import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.delivery.ProducerController.RequestNext
import scala.collection.immutable.Queue

/** What is to be sent by reliable delivery, in order, as it is asked for. Belongs to an actor. */
final class Outbox[A]:
  private var demand = Option.empty[ActorRef[A]]
  private var waiting = Queue.empty[A]

  def put(message: A): Unit =
    waiting = waiting.enqueue(message)
    send()

  def demanded(next: RequestNext[A]): Unit =
    demand = Some(next.sendNextTo)
    send()

  private def send(): Unit =
    for
      next <- demand
      (first, rest) <- waiting.dequeueOption
    do
      waiting = rest
      demand = None
      next ! first
