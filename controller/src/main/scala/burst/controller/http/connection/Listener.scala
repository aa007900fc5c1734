package burst.controller.http.connection

import com.sun.management.UnixOperatingSystemMXBean
import java.lang.management.ManagementFactory
import java.net.InetSocketAddress
import java.util.concurrent.atomic.AtomicLong
import javax.net.ssl.SSLContext
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.http.scaladsl.Http
import org.apache.pekko.http.scaladsl.model.headers.`Timeout-Access`
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.settings.ServerSettings
import org.apache.pekko.pattern.after
import org.apache.pekko.stream.Attributes.CancellationStrategy
import org.apache.pekko.stream.TLSClosing
import org.apache.pekko.stream.scaladsl.*
import org.apache.pekko.stream.{Attributes, TLSProtocol}
import org.apache.pekko.util.ByteString
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.Try
import scala.util.control.NonFatal

/** Listens, and stacks each connection's layers: TCP, [[ConnectionGuard]], TLS, HTTP, the API. */
final class Listener(limits: ConnectionLimits, server: ServerSettings, tls: Option[SSLContext])(using
    system: ActorSystem[?]
):
  import Listener.*

  private val connections = Connections(affordable(limits))
  private val complained = AtomicLong(System.nanoTime() - Quiet.toNanos)

  def bind(host: String, port: Int)(answer: HttpRequest => Future[HttpResponse]): Future[Listening] =
    given ExecutionContext = system.executionContext
    Tcp(system)
      .bind(host, port, server.backlog, server.socketOptions, halfClose = false)
      .to(Sink.foreach(take(_, answer)))
      .run()
      .map(binding => Listening(binding, connections))

  private def take(incoming: Tcp.IncomingConnection, answer: HttpRequest => Future[HttpResponse]): Unit =
    connections.admit(incoming.remoteAddress.getAddress) match
      case Some(connection) =>
        try serve(incoming, connection, answer)
        // An exception would end the listener.
        catch
          case problem @ (NonFatal(_) | _: LinkageError) =>
            log.error(s"a connection of ${incoming.remoteAddress} cannot be served", problem)
            connection.gone()
            val _ = Try(cut(incoming))
      case None =>
        complain(incoming.remoteAddress)
        cut(incoming)

  private def cut(incoming: Tcp.IncomingConnection): Unit =
    Source.failed[ByteString](ConnectionGuard.Cut).via(incoming.flow).runWith(Sink.cancelled)

  private def serve(
      incoming: Tcp.IncomingConnection,
      connection: Connection,
      answer: HttpRequest => Future[HttpResponse]
  ): Unit =
    val handler = Flow[HttpRequest]
      .map(connection.requested)
      .mapAsync(1)(request =>
        answer(request).andThen(_ => endTime(request))(using ExecutionContext.parasitic)
      )
      .map(connection.answered)
    Http()
      .serverLayer(server, Some(incoming.remoteAddress), isSecureConnection = tls.isDefined)
      .atop(bounded(connection))
      .atop(encryption)
      .atop(BidiFlow.fromGraph(ConnectionGuard(connection, limits)))
      .join(incoming.flow)
      .join(handler)
      .addAttributes(Attributes(CancellationStrategy(CancellationStrategy.AfterDelay(
        server.streamCancellationDelay,
        CancellationStrategy.FailStage
      ))))
      .run()

  private def bounded(connection: Connection): BidiFlow[
    TLSProtocol.SslTlsOutbound,
    TLSProtocol.SslTlsOutbound,
    TLSProtocol.SslTlsInbound,
    TLSProtocol.SslTlsInbound,
    Any
  ] =
    val incoming = Flow[TLSProtocol.SslTlsInbound]
      .filter:
        case TLSProtocol.SessionBytes(_, bytes) => connection.takes(bytes.length)
        case _ => true
      .mapConcat:
        case TLSProtocol.SessionBytes(session, bytes) =>
          pieces(bytes).map(TLSProtocol.SessionBytes(session, _))
        case other => Iterator.single(other)
    BidiFlow.fromFlows(Flow[TLSProtocol.SslTlsOutbound], incoming)

  private def encryption
      : BidiFlow[TLSProtocol.SslTlsOutbound, ByteString, ByteString, TLSProtocol.SslTlsInbound, Any] =
    tls.fold(TLSPlacebo()): context =>
      def engine() =
        val engine = context.createSSLEngine()
        engine.setUseClientMode(false)
        engine
      TLS(() => engine(), TLSClosing.eagerClose)

  /** Logs at most once a minute, so that a client that connects often cannot fill the log. */
  private def complain(address: InetSocketAddress): Unit =
    val (last, now) = (complained.get, System.nanoTime())
    if now - last >= Quiet.toNanos && complained.compareAndSet(last, now) then
      log.warn(
        "a connection of {} is refused: all {} are in use, or all {} of that client; see burst.http.connections",
        address.getAddress.getHostAddress,
        limits.most,
        limits.perClient
      )

object Listener:
  private val log = LoggerFactory.getLogger(classOf[Listener])

  /** Ends the timeout of an answered request. Pekko does so when it sends the answer, but if the connection
    * was reset before, the timeout would keep running and hold everything the connection had.
    */
  private def endTime(request: HttpRequest): Unit =
    request.header[`Timeout-Access`].foreach(_.timeoutAccess.updateTimeout(Duration.Inf))
  private val Quiet = 1.minute

  /** How many lines the HTTP parser receives at a time. A request has two or more; each takes some of the
    * stack, as the parser calls itself for the next one.
    */
  private val Lines = 256

  private def pieces(bytes: ByteString): Iterator[ByteString] = Iterator.unfold(bytes): left =>
    Option.when(left.nonEmpty)(left.splitAt(endOfLines(left)))

  private def endOfLines(bytes: ByteString): Int =
    var (end, lines) = (0, 0)
    while lines < Lines && end < bytes.length do
      val newline = bytes.indexOf('\n'.toByte, end)
      end = if newline < 0 then bytes.length else newline + 1
      lines += 1
    end

  private def affordable(limits: ConnectionLimits): ConnectionLimits =
    ManagementFactory.getOperatingSystemMXBean match
      case unix: UnixOperatingSystemMXBean =>
        val affordable = limits.within(unix.getMaxFileDescriptorCount)
        if affordable.most < limits.most then
          log.warn(
            "at most {} connections are taken instead of {}, as this process may open {} files; raise `ulimit -n`",
            affordable.most,
            limits.most,
            unix.getMaxFileDescriptorCount
          )
        affordable
      case _ => limits

/** A listening port. */
final class Listening private[connection] (binding: Tcp.ServerBinding, connections: Connections):
  val localAddress: InetSocketAddress = binding.localAddress

  /** Accepts no more connections, lets requests under way be answered, and cuts what is left after the
    * deadline.
    */
  def terminate(deadline: FiniteDuration)(using system: ActorSystem[?]): Future[Unit] =
    given ExecutionContext = system.executionContext
    for
      _ <- binding.unbind()
      gone = connections.close()
      _ <- Future.firstCompletedOf(Seq(gone, after(deadline)(Future.unit)))
      _ = connections.cutAll()
    yield ()
