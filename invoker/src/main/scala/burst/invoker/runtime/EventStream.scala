package burst.invoker.runtime

import burst.protocol.PackEvent
import java.util.concurrent.Flow.{Publisher, Subscriber, Subscription}
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.control.NonFatal

/** The events with which a runtime answers a pack, as they arrive: each chunk is cut into lines (`lines`),
  * and each line is decoded (`decode`). Events that arrive while earlier ones are being passed on travel
  * together, up to `maxBatch` by `weight`; beyond that nothing is read until they are passed on.
  *
  * It is a plain subscriber instead of a library's stream: an invocation is one of these, and setting up a
  * stream would take a tenth of its time.
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

  /** Passes all events to `take`, in order: the next call comes when the future of the previous one has
    * completed. Completes at the stream's end, and fails with `BrokenStream`, with the failure of the
    * connection or of `take`, or when it is cancelled. Must be called once only.
    */
  def foreach(take: Vector[PackEvent] => Future[Unit])(using ExecutionContext): Future[Unit] =
    body.subscribe(Reader(take))
    ended.future

  /** Hangs up: to the runtime its invoker is then lost. Without effect once the stream has ended. */
  def cancel(): Unit =
    if ended.tryFailure(EventStream.Cancelled) then subscription.foreach(_.cancel())

  private final class Reader(take: Vector[PackEvent] => Future[Unit])(using ExecutionContext)
      extends Subscriber[ByteString]:
    private var lines = LineBuffer(maxLine)
    private var pending = Vector.empty[PackEvent]
    private var pendingWeight = 0L

    /** Whether events are being passed on. */
    private var busy = false

    /** Whether no further chunk has been requested. */
    private var paused = false

    /** Whether a chunk is being read. */
    private var reading = false
    private var complete = false

    def onSubscribe(own: Subscription): Unit =
      subscription = Some(own)
      if ended.isCompleted then own.cancel() else own.request(1)

    /** Small chunks are read immediately, on the one thread that serves all runtimes; large ones elsewhere,
      * so that the other runtimes do not wait. The next chunk comes only when it is requested.
      */
    def onNext(chunk: ByteString): Unit =
      synchronized:
        reading = true
      if chunk.length <= EventStream.SmallChunk then taken(chunk)
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
      case Right((rest, newLines)) =>
        lines = rest
        val events = newLines.map(decode)
        synchronized:
          pending = if pending.isEmpty then events else pending ++ events
          pendingWeight += events.iterator.map(weight).sum
      case Left(LineBuffer.TooLong(limit)) => throw BrokenStream(StreamProblem.EventTooLong(limit))

    private def pass(): Unit =
      val (next, resume, over) = synchronized:
        // After a failure nobody waits for events.
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
  /** Enough bytes for the few events of an invocation. */
  private val SmallChunk = 8 * 1024

  object Cancelled extends RuntimeException("the pack has ended", null, false, false)
