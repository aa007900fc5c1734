package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.protocol.{FlareId, InvokerId}
import scala.collection.immutable.Queue
import scala.collection.mutable

/** A flare that waits for its slots. `since` is when it began to wait, in microseconds by a clock that only
  * goes on; `avoid` is where its last attempt did not start, `why` what became of that, where it has given
  * its slots back because a cluster had no room for its packs.
  */
final case class Waiting(
    id: FlareId,
    attempt: Int,
    request: FlareRequest,
    since: Long,
    avoid: Option[InvokerId] = None,
    why: Option[String] = None
):
  def tenant: String = request.definition.namespace
  def size: Int = request.size
  def attemptId: AttemptId = AttemptId(id, attempt)

object Waiting:
  /** Whether it is one of a sequence. */
  def isPart(request: FlareRequest): Boolean = request.activation.exists(_.component)

/** The flares of one namespace, in the order they came. `served` is the queue's account: slots handed to it
  * so far, on the queue's common scale.
  */
final case class TenantQueue(waiting: Queue[Waiting], length: Int, served: Long)

/** Who waits, and in which order: as they came within a namespace, start-time fair queueing by slots between
  * namespaces.
  *
  * Every namespace has an account of the slots it was given. The next flare is the first of the namespace
  * with the smallest account; placing it adds its size. A namespace that begins to wait starts at the common
  * clock (the account of the namespace served last), so idling earns no credit and asking one flare at a time
  * loses none.
  *
  * Example: A asks for 100 flares of 8 slots, then B for two of 8 and one of 32. Accounts: A 0, B 0. Served:
  * A (8), B (8), A (16), B (16), A (24), B's 32 (48), and A until it has had 48 too. B did not wait for A's
  * hundred, and B's large flare cost it what it took.
  */
final case class FlareQueue private (queues: Map[String, TenantQueue], clock: Long, length: Int):

  /** Slots wanted by all that wait. */
  def demand: Long = queues.valuesIterator.flatMap(_.waiting.iterator).map(_.size.toLong).sum

  /** Namespaces that have flares here. */
  def waitingTenants: Int = queues.valuesIterator.count(_.waiting.nonEmpty)

  def lengthOf(tenant: String): Int = queues.get(tenant).fold(0)(_.length)

  /** Whether more than `most` wait, parts of sequences apart. They are counted only where that may be. */
  def exceeds(most: Int): Boolean = length > most && FlareQueue.wholes(queues.valuesIterator) > most

  def exceeds(most: Int, tenant: String): Boolean =
    lengthOf(tenant) > most && FlareQueue.wholes(queues.get(tenant).iterator) > most

  def enqueue(flare: Waiting): FlareQueue =
    val queue = queues.getOrElse(flare.tenant, TenantQueue(Queue.empty, 0, clock))
    val served = if queue.waiting.isEmpty then queue.served.max(clock) else queue.served
    val joined = TenantQueue(queue.waiting.enqueue(flare), queue.length + 1, served)
    copy(queues = queues.updated(flare.tenant, joined), length = length + 1)

  /** All that wait, in the order in which they are to be served: always the first of the namespace with the
    * smallest account, put to that account. Lazy, as rarely more than a few are wanted; of a namespace that
    * is `done` by then no further one is.
    */
  def order(done: String => Boolean): Iterator[Waiting] =
    val heads = mutable.PriorityQueue.from(queues.valuesIterator.filter(_.waiting.nonEmpty))(using
      FlareQueue.Next
    )
    Iterator.unfold(heads) { rest =>
      while rest.nonEmpty && done(rest.head.waiting.head.tenant) do
        val _ = rest.dequeue()
      Option.when(rest.nonEmpty) {
        val queue = rest.dequeue()
        val first = queue.waiting.head
        val others = queue.waiting.tail
        if others.nonEmpty then rest += TenantQueue(others, queue.length - 1, queue.served + first.size)
        (first, rest)
      }
    }

  def order: Iterator[Waiting] = order(_ => false)

  /** Takes out a flare, as it was given its slots. */
  def served(flare: Waiting): FlareQueue =
    taken(flare.id, flare.tenant).fold(this) { queue =>
      val after = queue.copy(served = queue.served + flare.size)
      FlareQueue.pruned(queues.updated(flare.tenant, after), clock.max(queue.served), length - 1)
    }

  /** Takes out a flare that no longer wants its slots; nothing is put to its namespace's account. */
  def remove(id: FlareId, tenant: String): FlareQueue =
    taken(id, tenant).fold(this) { queue =>
      FlareQueue.pruned(queues.updated(tenant, queue), clock, length - 1)
    }

  /** The queue without a flare that stands in it. */
  private def taken(id: FlareId, tenant: String): Option[TenantQueue] =
    queues.get(tenant).flatMap { queue =>
      val rest =
        if queue.waiting.headOption.exists(_.id == id) then Some(queue.waiting.tail)
        else Some(queue.waiting.filterNot(_.id == id)).filter(_.sizeCompare(queue.length) < 0)
      rest.map(waiting => queue.copy(waiting = waiting, length = queue.length - 1))
    }

object FlareQueue:
  val empty: FlareQueue = FlareQueue(Map.empty, 0L, 0)

  /** The queue to be served first is the greatest: smallest account, then longest wait, then name. */
  private val Next: Ordering[TenantQueue] = Ordering
    .by[TenantQueue, (Long, Long, String)](queue =>
      (queue.served, queue.waiting.head.since, queue.waiting.head.tenant)
    )
    .reverse

  private def wholes(queues: Iterator[TenantQueue]): Int =
    queues.map(_.waiting.count(flare => !Waiting.isPart(flare.request))).sum

  /** Accounts of idle namespaces are kept only while they are ahead of the clock: behind it they say nothing.
    */
  private def pruned(queues: Map[String, TenantQueue], clock: Long, length: Int): FlareQueue =
    FlareQueue(queues.filter((_, queue) => queue.waiting.nonEmpty || queue.served > clock), clock, length)
