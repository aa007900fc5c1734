package burst.protocol.link

import burst.protocol.Bundling
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.delivery.ProducerController.RequestNext
import scala.collection.immutable.Queue

/** What is to be sent by reliable delivery, in order, as it is asked for. What waits travels together, where
  * the other end reads bundles (`version`): each message costs as much as several small ones in one. Belongs
  * to an actor.
  */
final class Outbox[A](version: Int)(using bundling: Bundling[A]):
  private val most = if version >= Bundling.Since then Outbox.Most else 1
  private var demand = Option.empty[ActorRef[A]]
  private var waiting = Queue.empty[A]
  private var count = 0

  /** Of what waits, somebody waits for the first so many. */
  private var urgent = 0

  def put(message: A): Unit =
    putLater(message)
    flush()

  /** Nobody waits for it: it goes with what is put next, or by [[flush]]. */
  def putLater(message: A): Unit =
    waiting = waiting.enqueue(message)
    count += 1

  /** All that is here is to go. */
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

  /** How many go together: the first one in any case. */
  private def fitting: Int =
    val lengths = waiting.iterator.map(bundling.length).scanLeft(0L)(_ + _).drop(1)
    lengths.take(most).takeWhile(_ <= Outbox.Enough).length.max(1)

object Outbox:
  /** Messages of a bundle. */
  private val Most = 64

  /** What is longer is not worth waiting for. */
  private val Enough: Long = 64 * 1024
