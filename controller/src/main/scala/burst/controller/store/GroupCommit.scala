package burst.controller.store

import java.util.concurrent.CountDownLatch
import scala.collection.mutable
import scala.util.Try

/** Has those who write at the same time share a transaction, where a database knows one writer at a time: it
  * is begun and committed once, and a page that several change is written once. Whoever comes while nobody
  * writes does so at once, for all who wait by then; the first who came meanwhile is next.
  *
  * What is to be done may be done twice: where it fails, nobody knows whose fault that was, and each is tried
  * by itself. Calls block for as long as `write` does, twice, and their own.
  *
  * @param write
  *   a transaction of its own, on this thread
  */
private[store] final class GroupCommit(write: (() => Unit) => Unit):
  import GroupCommit.Member

  private val waiting = mutable.Queue.empty[Member]
  private var busy = false

  def apply(work: () => Unit): Unit =
    val own = Member(work)
    val first = synchronized:
      val first = !busy
      busy = true
      if !first then waiting += own
      first
    val interrupted = !first && own.await()
    if own.outcome.isEmpty then lead(own)
    if interrupted then Thread.currentThread.interrupt()
    own.outcome.foreach(_.get)

  /** How many wait for their turn. */
  def awaiting: Int = synchronized(waiting.size)

  private def lead(own: Member): Unit =
    val all = synchronized(own +: waiting.dequeueAll(_ => true))
    try
      val together = Try(write(() => all.foreach(_.work())))
      all.foreach: member =>
        val alone = if together.isSuccess || all.size == 1 then together else Try(write(member.work))
        member.outcome = Some(alone)
    finally
      synchronized:
        if waiting.isEmpty then busy = false else waiting.dequeue().wake()
      all.foreach(_.wake())

private object GroupCommit:
  /** Who is woken without an outcome is to see to it. */
  final class Member(val work: () => Unit):
    private val woken = CountDownLatch(1)

    @volatile var outcome = Option.empty[Try[Unit]]

    /** Whether it was interrupted meanwhile: it waits on, as the others may be waiting for it. */
    def await(): Boolean =
      var interrupted = false
      while woken.getCount > 0 do
        try woken.await()
        catch case _: InterruptedException => interrupted = true
      interrupted
    def wake(): Unit = woken.countDown()
