package burst.node

import scala.collection.immutable.Queue
import scala.concurrent.{Future, Promise}

/** So many bytes of memory for something that may be large, over all who want some: who asks for more than is
  * left waits its turn, first come first served. What is asked for beyond the total counts as the total, so
  * that everybody gets a turn.
  */
final class Allowance(total: Long):
  import Allowance.Grant

  private final case class Waiting(grant: Grant, promise: Promise[Grant])

  private var left = total
  private var waiting = Queue.empty[Waiting]

  /** Completes when `bytes` are set aside. They are given back by closing the grant. */
  def take(bytes: Long): Future[Grant] = synchronized:
    val waits = Waiting(Grant(bytes.max(0).min(total), giveBack), Promise())
    waiting = waiting.enqueue(waits)
    serve()
    waits.promise.future

  private def giveBack(bytes: Long): Unit = synchronized:
    left += bytes
    serve()

  private def serve(): Unit =
    while waiting.headOption.exists(_.grant.bytes <= left) do
      val (first, rest) = waiting.dequeue
      waiting = rest
      left -= first.grant.bytes
      first.promise.success(first.grant)

object Allowance:
  /** Bytes set aside until it is closed, once. */
  final class Grant private[Allowance] (private[Allowance] val bytes: Long, giveBack: Long => Unit):
    private var open = true

    def close(): Unit =
      val first = synchronized:
        val was = open
        open = false
        was
      if first then giveBack(bytes)
