package burst.node

import scala.collection.immutable.{Queue, VectorMap}
import scala.concurrent.{Future, Promise}

/** So many bytes of memory for something that may be large, over all who want some: who asks for more than is
  * left waits. Owners take turns, however many of theirs wait; those of one owner come in the order they
  * asked. What is asked for beyond the total counts as the total, so that everybody gets a turn.
  */
final class Allowance(total: Long):
  import Allowance.Grant

  private final case class Waiting(grant: Grant, promise: Promise[Grant])

  private var left = total

  /** By owner, the next one first. None is empty. */
  private var waiting = VectorMap.empty[String, Queue[Waiting]]

  /** Completes when `bytes` are set aside. They are given back by closing the grant. */
  def take(bytes: Long, owner: String = ""): Future[Grant] = synchronized:
    val waits = Waiting(Grant(bytes.max(0).min(total), giveBack), Promise())
    waiting = waiting.updated(owner, waiting.getOrElse(owner, Queue.empty).enqueue(waits))
    serve()
    waits.promise.future

  private def giveBack(bytes: Long): Unit = synchronized:
    left += bytes
    serve()

  /** Nobody passes the one whose turn it is, or who wants much would wait for ever. */
  private def serve(): Unit =
    while waiting.headOption.exists(_._2.head.grant.bytes <= left) do
      val (owner, own) = waiting.head
      val (first, rest) = own.dequeue
      waiting = waiting.removed(owner)
      if rest.nonEmpty then waiting = waiting.updated(owner, rest)
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
