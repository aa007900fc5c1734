package burst.protocol.link

import burst.protocol.Bundling
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.delivery.ProducerController.RequestNext
import scala.collection.immutable.Queue

/** Messages to be sent by reliable delivery, in order, on demand. If the other end understands bundles
  * (`version`), waiting messages travel together: a message costs as much as a bundle of several small ones.
  * Belongs to an actor.
  */
final class Outbox[A](version: Int)(using bundling: Bundling[A]):
  private val most = if version >= Bundling.Since then Outbox.Most else 1
  private var demand = Option.empty[ActorRef[A]]
  private var waiting = Queue.empty[A]
  private var count = 0

  /** How many of the waiting messages are urgent: the first ones of the queue. */
  private var urgent = 0

  def put(message: A): Unit =
    putLater(message)
    flush()

  /** Queues a message that is not urgent: it goes with the next one that is put, or by [[flush]]. */
  def putLater(message: A): Unit =
    waiting = waiting.enqueue(message)
    count += 1

  /** Makes all waiting messages urgent. */
  def flush(): Unit =
    urgent = count
    send()

  def demanded(next: RequestNext[A]): Unit =
    demand = Some(next.sendNextTo)
    send()

  private def send(): Unit =
    for next <- demand if urgent > 0 do
      val together = waiting.take(fitting)
      waiting = waiting.drop(together.length)
      count -= together.length
      urgent = (urgent - together.length).max(0)
      demand = None
      next ! (if together.length == 1 then together.head else bundling.bundle(together.toVector))

  /** How many messages fit into one bundle: at least the first one. */
  private def fitting: Int =
    val lengths = waiting.iterator.map(bundling.length).scanLeft(0L)(_ + _).drop(1)
    lengths.take(most).takeWhile(_ <= Outbox.Enough).length.max(1)

object Outbox:
  /** Maximum messages in a bundle. */
  private val Most = 64

  /** Messages beyond this length do not benefit from a bundle. */
  private val Enough: Long = 64 * 1024
