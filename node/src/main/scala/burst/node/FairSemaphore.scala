package burst.node

import scala.collection.immutable.{Queue, VectorMap}
import scala.concurrent.{Future, Promise}

/** So many bytes of memory for something that may be large, over all who want some: who asks for more than is
  * left waits. Tenants take turns, however many of theirs wait; those of one tenant come in the order they
  * asked. What is asked for beyond the total counts as the total, so that everybody gets a turn.
  */
final class FairSemaphore(total: Long):
  import FairSemaphore.Permit

  private final case class Waiting(permit: Permit, promise: Promise[Permit])

  private var left = total

  /** By tenant, the next one first. None is empty. */
  private var waiting = VectorMap.empty[String, Queue[Waiting]]

  /** Completes when `bytes` are set aside. They are given back by closing the permit. */
  def acquire(bytes: Long, tenant: String = ""): Future[Permit] = synchronized:
    val waits = Waiting(Permit(bytes.max(0).min(total), giveBack), Promise())
    waiting = waiting.updated(tenant, waiting.getOrElse(tenant, Queue.empty).enqueue(waits))
    serve()
    waits.promise.future

  private def giveBack(bytes: Long): Unit = synchronized:
    left += bytes
    serve()

  /** Nobody passes the one whose turn it is, or who wants much would wait for ever. */
  private def serve(): Unit =
    while waiting.headOption.exists(_._2.head.permit.bytes <= left) do
      val (tenant, own) = waiting.head
      val (first, rest) = own.dequeue
      waiting = waiting.removed(tenant)
      if rest.nonEmpty then waiting = waiting.updated(tenant, rest)
      left -= first.permit.bytes
      first.promise.success(first.permit)

object FairSemaphore:
  /** Bytes set aside until it is closed, once. */
  final class Permit private[FairSemaphore] (private[FairSemaphore] val bytes: Long, giveBack: Long => Unit):
    private var open = true

    def close(): Unit =
      val first = synchronized:
        val was = open
        open = false
        was
      if first then giveBack(bytes)
