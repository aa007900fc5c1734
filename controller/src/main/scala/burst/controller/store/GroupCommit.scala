package burst.controller.store

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.Try

/** Has those who write at the same time share a transaction, where a database knows one writer at a time: it
  * is begun and committed once, and a page that several change is written once. Whoever comes while nobody
  * writes does so at once; who comes meanwhile is of the next transaction, on the same thread, and no other
  * thread waits for it.
  *
  * What is to be done may be done twice: where it fails, nobody knows whose fault that was, and each is tried
  * by itself.
  *
  * @param write
  *   a transaction of its own, on this thread
  */
private[store] final class GroupCommit(write: (() => Unit) => Unit):
  import GroupCommit.*

  private val waiting = mutable.Queue.empty[Member]
  private var busy = false

  /** On one of these threads, or on one that writes already. */
  def apply(threads: ExecutionContext)(work: () => Unit): Future[Unit] =
    val own = Member(work)
    val first = synchronized:
      waiting += own
      val first = !busy
      busy = true
      first
    if first then
      try threads.execute(() => commitAll())
      // Also what is fatal elsewhere: a thread that cannot be started now is an OutOfMemoryError.
      catch case refused: Throwable => giveUp(refused)
    own.done.future

  /** How many wait for the next transaction. */
  def awaiting: Int = synchronized(waiting.size)

  private def commitAll(): Unit =
    try Iterator.continually(next()).takeWhile(_.nonEmpty).foreach(commit)
    catch
      case fatal: Throwable =>
        giveUp(fatal)
        throw fatal

  private def next(): Vector[Member] = synchronized:
    val all = Vector.fill(waiting.size.min(Most))(waiting.dequeue())
    busy = all.nonEmpty
    all

  private def commit(all: Vector[Member]): Unit =
    try
      val together = Try(write(() => all.foreach(_.work())))
      all.foreach: member =>
        val alone = if together.isSuccess || all.size == 1 then together else Try(write(member.work))
        member.done.complete(alone)
    // Of what ends this thread.
    catch
      case fatal: Throwable =>
        all.foreach(_.done.tryFailure(fatal))
        throw fatal

  private def giveUp(cause: Throwable): Unit =
    val all = synchronized:
      busy = false
      waiting.dequeueAll(_ => true)
    all.foreach(_.done.failure(cause))

private object GroupCommit:
  /** In a transaction: who comes first does not wait long for all others. */
  private val Most = 256

  private final class Member(val work: () => Unit):
    val done = Promise[Unit]()
