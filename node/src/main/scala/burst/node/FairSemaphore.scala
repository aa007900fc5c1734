package burst.node

import scala.collection.immutable.{Queue, VectorMap}
import scala.concurrent.{Future, Promise}

/** A number of bytes of memory for something that may be large, shared by everybody who needs some: whoever
  * asks for more than is left waits. Tenants take turns, however many of their requests wait; those of one
  * tenant are served in order. A request beyond the total counts as the total, so that everybody gets a turn.
  */
final class FairSemaphore(total: Long):
  import FairSemaphore.Permit

  private final case class Waiting(permit: Permit, promise: Promise[Permit])

  private var available = total

  /** By tenant, the next one first. No queue is empty. */
  private var waiting = VectorMap.empty[String, Queue[Waiting]]

  /** Completes when `bytes` are set aside. Closing the permit gives them back. */
  def acquire(bytes: Long, tenant: String = ""): Future[Permit] = synchronized:
    val waits = Waiting(Permit(bytes.max(0).min(total), release), Promise())
    waiting = waiting.updated(tenant, waiting.getOrElse(tenant, Queue.empty).enqueue(waits))
    serve()
    waits.promise.future

  private def release(bytes: Long): Unit = synchronized:
    available += bytes
    serve()

  /** Nobody overtakes the one whose turn it is, or large requests would wait forever. */
  private def serve(): Unit =
    while waiting.headOption.exists(_._2.head.permit.bytes <= available) do
      val (tenant, own) = waiting.head
      val (first, rest) = own.dequeue
      waiting = waiting.removed(tenant)
      if rest.nonEmpty then waiting = waiting.updated(tenant, rest)
      available -= first.permit.bytes
      first.promise.success(first.permit)

object FairSemaphore:
  /** Bytes that are set aside until the permit is closed; closing it again has no effect. */
  final class Permit private[FairSemaphore] (private[FairSemaphore] val bytes: Long, release: Long => Unit):
    private var open = true

    def close(): Unit =
      val first = synchronized:
        val wasOpen = open
        open = false
        wasOpen
      if first then release(bytes)
