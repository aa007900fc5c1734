package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.node.MonotonicTime
import burst.protocol.{Failure, FlareId, InvokerId}
import scala.collection.immutable.TreeMap
import scala.collection.mutable

/** A flare that waits for its slots. `since` is when it began to wait; `avoid` is the machine on which its
  * last attempt did not start. If it released its slots because a cluster had no room for its packs, `noRoom`
  * is that failure, and it keeps the `number` it had in the queue.
  */
final case class Waiting(
    id: FlareId,
    attempt: Int,
    request: FlareRequest,
    since: MonotonicTime,
    avoid: Option[InvokerId] = None,
    noRoom: Option[Failure] = None,
    number: Option[Long] = None
):
  def tenant: String = request.definition.namespace
  def size: Int = request.size
  def attemptId: AttemptId = AttemptId(id, attempt)

/** A flare's number in the queue and the time since when it has waited: with it the flare can return to its
  * place.
  */
final case class QueueTicket(number: Long, since: MonotonicTime)

object Waiting:
  /** Whether it is a part of a sequence. */
  def isPart(request: FlareRequest): Boolean = request.activation.exists(_.component)

/** The flares of one namespace in the order of their numbers in the queue, `parts` of them of sequences.
  * `served` is the namespace's account: slots handed to it so far, on the queue's common scale.
  */
final case class TenantQueue(waiting: TreeMap[Long, Waiting], parts: Int, served: Long):
  def length: Int = waiting.size

  private[scheduler] def enqueue(number: Long, flare: Waiting): TenantQueue =
    TenantQueue(waiting.updated(number, flare), parts + TenantQueue.part(flare), served)

  private[scheduler] def without(number: Long): TenantQueue = waiting.get(number).fold(this): flare =>
    TenantQueue(waiting.removed(number), parts - TenantQueue.part(flare), served)

object TenantQueue:
  private def part(flare: Waiting): Int = if Waiting.isPart(flare.request) then 1 else 0

/** The waiting flares and their order: first come, first served within a namespace, start-time fair queueing
  * by slots between namespaces.
  *
  * Every namespace has an account of the slots it was given. The next flare is the first of the namespace
  * with the smallest account; placing it adds its size. A namespace that begins to wait starts at the common
  * clock (the account of the namespace served last), so idling earns no credit and asking one flare at a time
  * loses none.
  *
  * Example: A asks for 100 flares of 8 slots, then B for two of 8 and one of 32. Accounts: A 0, B 0. Served:
  * A (8), B (8), A (16), B (16), A (24), B's 32 (48), and A until it has had 48 too. B did not wait for A's
  * hundred, and B's large flare cost it what it took.
  *
  * Adding a flare, or removing one from any place in the queue, takes logarithmic time: `numbers` has the
  * number of each, and the next one's is above all of them.
  */
final case class FlareQueue private (
    queues: Map[String, TenantQueue],
    numbers: Map[FlareId, Long],
    next: Long,
    clock: Long
):
  def length: Int = numbers.size

  /** The number of namespaces with flares in the queue. */
  def waitingTenants: Int = queues.valuesIterator.count(_.waiting.nonEmpty)

  /** Whether more than `most` flares wait, not counting parts of sequences. */
  def exceeds(most: Int): Boolean = length > most && length - queues.valuesIterator.map(_.parts).sum > most

  def exceeds(most: Int, tenant: String): Boolean =
    queues.get(tenant).exists(queue => queue.length - queue.parts > most)

  /** Adds a flare, at the end of its namespace unless it has a number; a flare that is already in the queue
    * moves.
    */
  def enqueue(flare: Waiting): FlareQueue = remove(flare.id, flare.tenant).added(flare)

  private def added(flare: Waiting): FlareQueue =
    val queue = queues.getOrElse(flare.tenant, TenantQueue(TreeMap.empty, 0, clock))
    val served = if queue.waiting.isEmpty then queue.served.max(clock) else queue.served
    val number = flare.number.getOrElse(next)
    FlareQueue(
      queues.updated(flare.tenant, queue.copy(served = served).enqueue(number, flare)),
      numbers.updated(flare.id, number),
      next.max(number + 1),
      clock
    )

  /** The ticket of a flare in the queue. */
  def ticketOf(flare: Waiting): Option[QueueTicket] =
    numbers.get(flare.id).map(QueueTicket(_, flare.since))

  /** All waiting flares in the order in which they are to be served: always the first of the namespace with
    * the smallest account, which its size is then added to. Lazy, as rarely more than a few are needed; once
    * a namespace is `done`, the rest of its flares are skipped.
    */
  def order(done: String => Boolean): Iterator[Waiting] =
    val heads = mutable.PriorityQueue.from(
      queues.valuesIterator.filter(_.waiting.nonEmpty).map(queue =>
        FlareQueue.Head(queue.served, queue.waiting.valuesIterator)
      )
    )
    Iterator.unfold(heads) { rest =>
      while rest.nonEmpty && done(rest.head.first.tenant) do
        val _ = rest.dequeue()
      Option.when(rest.nonEmpty) {
        val head = rest.dequeue()
        head.next.foreach(rest += _)
        (head.first, rest)
      }
    }

  def order: Iterator[Waiting] = order(_ => false)

  /** The first of each namespace. */
  def heads: Iterator[Waiting] = queues.valuesIterator.flatMap(_.waiting.headOption).map(_._2)

  /** The waiting flares that were added since `next` had this number, in that order. */
  def since(number: Long): Vector[Waiting] =
    if number >= next then Vector.empty
    else queues.valuesIterator.flatMap(_.waiting.iteratorFrom(number)).toVector.sortBy(_._1).map(_._2)

  /** Removes a flare because it was given its slots. */
  def served(flare: Waiting): FlareQueue =
    taken(flare.id, flare.tenant).fold(this) { queue =>
      val after = queue.copy(served = queue.served + flare.size)
      pruned(queues.updated(flare.tenant, after), flare.id, clock.max(queue.served))
    }

  /** Removes a flare that no longer wants its slots; its namespace's account stays the same. */
  def remove(id: FlareId, tenant: String): FlareQueue =
    taken(id, tenant).fold(this)(queue => pruned(queues.updated(tenant, queue), id, clock))

  /** The queue of a namespace without this flare, if it contains it. */
  private def taken(id: FlareId, tenant: String): Option[TenantQueue] =
    for
      number <- numbers.get(id)
      queue <- queues.get(tenant)
      if queue.waiting.contains(number)
    yield queue.without(number)

  /** Accounts of idle namespaces are kept only while they are ahead of the clock: behind it they have no
    * effect.
    */
  private def pruned(queues: Map[String, TenantQueue], gone: FlareId, clock: Long): FlareQueue =
    val kept = queues.filter((_, queue) => queue.waiting.nonEmpty || queue.served > clock)
    FlareQueue(kept, numbers.removed(gone), next, clock)

object FlareQueue:
  val empty: FlareQueue = FlareQueue(Map.empty, Map.empty, next = 0L, clock = 0L)

  /** The `first` flare of a namespace to be served next, at this account, and those behind it. */
  private final class Head(served: Long, flares: Iterator[Waiting]):
    val first: Waiting = flares.next()

    /** The same namespace once `first` has been served. */
    def next: Option[Head] = Option.when(flares.hasNext)(Head(served + first.size, flares))

    private def key: (Long, MonotonicTime, String) = (served, first.since, first.tenant)

  private object Head:
    /** The namespace to be served first is the greatest: smallest account, then longest wait, then name. */
    given Ordering[Head] = Ordering.by[Head, (Long, MonotonicTime, String)](_.key).reverse
