package burst.invoker.runtime

import burst.protocol.PackEvent
import java.util.concurrent.Flow.{Publisher, Subscriber, Subscription}
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.control.NonFatal

/** The events that a runtime answers a pack with, as they come in: each chunk is cut into lines (`lines`),
  * and each line read (`decode`). What arrives while earlier events are being passed on travels together, up
  * to `maxBatch` by `weight`; then no more is read until they are.
  *
  * A subscriber of its own and no stream of a library: an invocation is one of these, and what it takes to
  * set a stream up would be a tenth of it.
  */
private[invoker] final class EventStream(
    body: Publisher[ByteString],
    maxLine: Int,
    maxBatch: Long,
    weight: PackEvent => Long,
    decode: ByteString => PackEvent
):
  private val ended = Promise[Unit]()
  @volatile private var subscription = Option.empty[Subscription]

  /** Has all events taken, in order: those of the next call come when the future of the last has completed.
    * Completes at the stream's end, and fails with `BrokenStream`, with what the connection or `take` failed
    * with, or when it is cancelled. To be called once.
    */
  def foreach(take: Vector[PackEvent] => Future[Unit])(using ExecutionContext): Future[Unit] =
    body.subscribe(Reader(take))
    ended.future

  /** Hangs up: the runtime takes its invoker for lost. Without effect once it has ended. */
  def cancel(): Unit =
    if ended.tryFailure(EventStream.Cancelled) then subscription.foreach(_.cancel())

  private final class Reader(take: Vector[PackEvent] => Future[Unit])(using ExecutionContext)
      extends Subscriber[ByteString]:
    private var lines = LineBuffer(maxLine)
    private var pending = Vector.empty[PackEvent]
    private var pendingWeight = 0L

    /** Events are being passed on. */
    private var busy = false

    /** Nothing more was asked for. */
    private var paused = false

    /** What has come is being read. */
    private var reading = false
    private var complete = false

    def onSubscribe(own: Subscription): Unit =
      subscription = Some(own)
      if ended.isCompleted then own.cancel() else own.request(1)

    /** Little is read at once, on the one thread that serves all runtimes; more is not to keep the others
      * waiting. The next comes when it was asked for.
      */
    def onNext(chunk: ByteString): Unit =
      synchronized:
        reading = true
      if chunk.length <= EventStream.Little then taken(chunk)
      else
        try summon[ExecutionContext].execute(() => taken(chunk))
        catch case NonFatal(problem) => broken(problem)

    private def taken(chunk: ByteString): Unit =
      try
        read(chunk)
        val more = synchronized:
          reading = false
          paused = pendingWeight >= maxBatch
          !paused
        pass()
        if more then subscription.foreach(_.request(1))
      catch case NonFatal(problem) => broken(problem)

    def onError(problem: Throwable): Unit =
      val _ = ended.tryFailure(problem)

    def onComplete(): Unit =
      synchronized:
        complete = true
      try pass()
      catch case NonFatal(problem) => broken(problem)

    private def read(chunk: ByteString): Unit = lines.feed(chunk) match
      case Right((rest, whole)) =>
        lines = rest
        val events = whole.map(decode)
        synchronized:
          pending = if pending.isEmpty then events else pending ++ events
          pendingWeight += events.iterator.map(weight).sum
      case Left(LineBuffer.TooLong(limit)) => throw BrokenStream(StreamProblem.EventTooLong(limit))

    private def pass(): Unit =
      val (next, resume, over) = synchronized:
        // Nobody waits for what is told after it has failed.
        val next = if busy || ended.isCompleted then Vector.empty else pending
        val resume = next.nonEmpty && paused
        if next.nonEmpty then
          busy = true
          paused = false
          pending = Vector.empty
          pendingWeight = 0
        (next, resume, complete && !busy && !reading && next.isEmpty)
      if next.nonEmpty then
        val taken = take(next)
        if taken.isCompleted then passed(taken.value) else taken.onComplete(result => passed(Some(result)))
        if resume then subscription.foreach(_.request(1))
      else if over then
        val _ = ended.trySuccess(())

    private def passed(result: Option[scala.util.Try[Unit]]): Unit =
      result.flatMap(_.toEither.left.toOption) match
        case Some(problem) => broken(problem)
        case None =>
          synchronized:
            busy = false
          try pass()
          catch case NonFatal(problem) => broken(problem)

    private def broken(problem: Throwable): Unit =
      if ended.tryFailure(problem) then subscription.foreach(_.cancel())

private[invoker] object EventStream:
  /** Bytes of a chunk that holds an invocation's few events. */
  private val Little = 8 * 1024

  object Cancelled extends RuntimeException("the pack has ended", null, false, false)
