package burst.controller.http.connection

import burst.controller.http.connection.Connection.End
import burst.node.MonotonicTime
import org.apache.pekko.stream.stage.*
import org.apache.pekko.stream.{Attributes, BidiShape, Inlet, Outlet}
import org.apache.pekko.util.ByteString
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.control.NoStackTrace

/** Stands between a connection's bytes and all other layers, TLS included, and ends connections that make no
  * progress: a request header that does not arrive, a client that sends no further request, an answer that is
  * not read. While a request is under way the connection may be silent: bodies and answers have timeouts of
  * their own.
  */
private[connection] final class ConnectionGuard(connection: Connection, limits: ConnectionLimits)
    extends GraphStage[BidiShape[ByteString, ByteString, ByteString, ByteString]]:
  private val answers = Inlet[ByteString]("answers")
  private val toClient = Outlet[ByteString]("to-client")
  private val fromClient = Inlet[ByteString]("from-client")
  private val requests = Outlet[ByteString]("requests")
  override val shape = BidiShape(answers, toClient, fromClient, requests)

  override def createLogic(attributes: Attributes): GraphStageLogic = Logic()

  private final class Logic extends TimerGraphStageLogic(shape):
    // Bytes from the HTTP layer that the client has not taken yet.
    private var unsent = ByteString.empty
    private var progress = MonotonicTime.now()
    // When the first byte arrived after the connection's state last changed.
    private var heard = connection.now.since - 1.nano
    private var over = false

    override def preStart(): Unit =
      val ending = getAsyncCallback(end)
      connection.end.foreach(ending.invoke)(ExecutionContext.parasitic)
      val shortest = limits.header.min(limits.keepAlive).min(limits.stall)
      scheduleWithFixedDelay("look", shortest, shortest / 4)

    override def postStop(): Unit = connection.gone()

    setHandler(
      answers,
      new InHandler:
        override def onPush(): Unit =
          unsent = grab(answers)
          if isAvailable(toClient) then send()
        override def onUpstreamFinish(): Unit = if isAvailable(toClient) then close()
        override def onUpstreamFailure(cause: Throwable): Unit = fail(toClient, cause)
    )

    setHandler(
      toClient,
      new OutHandler:
        override def onPull(): Unit =
          progress = MonotonicTime.now()
          if unsent.nonEmpty then send()
          else if isClosed(answers) then close()
          else if !hasBeenPulled(answers) then pull(answers)
        override def onDownstreamFinish(cause: Throwable): Unit = cancel(answers, cause)
    )

    setHandler(
      fromClient,
      new InHandler:
        override def onPush(): Unit =
          val bytes = grab(fromClient)
          if connection.now.since > heard then heard = MonotonicTime.now()
          if isClosed(requests) then pull(fromClient) else push(requests, bytes)
        override def onUpstreamFinish(): Unit = complete(requests)
        override def onUpstreamFailure(cause: Throwable): Unit = fail(requests, cause)
    )

    setHandler(
      requests,
      new OutHandler:
        override def onPull(): Unit = if !isClosed(fromClient) then pull(fromClient)
        // Reads and drops whatever the client still sends: it would not see the answer otherwise.
        override def onDownstreamFinish(cause: Throwable): Unit =
          if !isClosed(fromClient) && !hasBeenPulled(fromClient) then pull(fromClient)
    )

    /** Sends a piece at a time, to see whether the client keeps reading a large answer. */
    private def send(): Unit =
      val (piece, rest) = unsent.splitAt(ConnectionGuard.Piece)
      unsent = rest
      progress = MonotonicTime.now()
      push(toClient, piece)

    private def close(): Unit =
      over = true
      progress = MonotonicTime.now()
      complete(toClient)

    override protected def onTimer(key: Any): Unit = if standsStill(MonotonicTime.now()) then end(End.Cut)

    private def standsStill(now: MonotonicTime): Boolean =
      def passed(limit: FiniteDuration, starts: MonotonicTime*) = starts.forall(_ + limit < now)
      val state = connection.now
      if over || !isAvailable(toClient) then passed(limits.stall, progress)
      else if state.underWay then false
      else if state.fresh then passed(limits.header, state.since)
      else if heard > state.since then passed(limits.header, heard, progress)
      else passed(limits.keepAlive, state.since, progress)

    private def end(how: End): Unit = how match
      // To the HTTP layer this looks as if the client had no more requests.
      case End.Finish =>
        if !isClosed(requests) then complete(requests)
        if !isClosed(fromClient) && !hasBeenPulled(fromClient) then pull(fromClient)
      case End.Cut =>
        fail(toClient, ConnectionGuard.Cut)
        cancel(answers)
        complete(requests)
        cancel(fromClient, ConnectionGuard.Cut)

private object ConnectionGuard:
  val Piece: Int = 64 * 1024

  object Cut extends RuntimeException("the connection was ended") with NoStackTrace
