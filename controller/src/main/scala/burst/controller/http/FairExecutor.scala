package burst.controller.http

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future}

/** Runs work on `threads`, one namespace after the other: however much one of them has to do, the next piece
  * of work is another's.
  */
final class FairExecutor(threads: ExecutionContext):
  // The namespace whose turn is next comes first.
  private val waiting = mutable.LinkedHashMap[String, mutable.Queue[Runnable]]()

  def apply[A](namespace: String)(work: => A): Future[A] = Future(work)(Line(namespace))

  private final class Line(namespace: String) extends ExecutionContext:
    override def execute(work: Runnable): Unit =
      FairExecutor.this.synchronized(waiting.getOrElseUpdate(namespace, mutable.Queue()).enqueue(work))
      threads.execute(() => next().run())

    override def reportFailure(cause: Throwable): Unit = threads.reportFailure(cause)

  // Called once for each piece of work.
  private def next(): Runnable = synchronized:
    val (namespace, line) = waiting.head
    waiting.remove(namespace)
    val work = line.dequeue()
    if line.nonEmpty then waiting(namespace) = line
    work
