package burst.invoker.runtime

import burst.invoker.driver.RuntimeAddress
import io.netty.bootstrap.Bootstrap
import io.netty.buffer.Unpooled
import io.netty.channel.group.{ChannelGroup, ChannelGroupFuture, DefaultChannelGroup}
import io.netty.channel.nio.NioIoHandler
import io.netty.channel.socket.nio.NioSocketChannel
import io.netty.channel.{
  AdaptiveRecvByteBufAllocator,
  Channel,
  ChannelFuture,
  ChannelInitializer,
  ChannelOption,
  MultiThreadIoEventLoopGroup
}
import io.netty.handler.codec.http.*
import io.netty.handler.stream.{ChunkedStream, ChunkedWriteHandler}
import io.netty.util.concurrent.DefaultThreadFactory
import java.io.InputStream
import java.net.{ConnectException, InetSocketAddress}
import java.nio.file.{Files, Path}
import java.util.concurrent.RejectedExecutionException
import java.util.concurrent.TimeUnit.SECONDS
import org.apache.pekko.util.ByteString
import scala.collection.mutable
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{Future, Promise}
import scala.util.control.NonFatal

/** Connections to the runtimes in containers (HTTP/1.1), all served by one thread: the time of an exchange is
  * a fixed part of every invocation.
  *
  * They are kept and reused, and no request waits for one: a runtime has as many as were ever in use at once.
  * They end with the runtime.
  */
private[runtime] final class RuntimeConnections(connectTimeout: FiniteDuration) extends AutoCloseable:
  import RuntimeConnections.*

  private val thread =
    MultiThreadIoEventLoopGroup(1, DefaultThreadFactory("burst-runtimes", true), NioIoHandler.newFactory())

  /** All open connections; none after `close`. */
  private val open = DefaultChannelGroup(thread.next(), true)

  private val bootstrap = Bootstrap()
    .group(thread)
    .channel(classOf[NioSocketChannel])
    .option(ChannelOption.TCP_NODELAY, true)
    // For unused connections whose machine is lost.
    .option(ChannelOption.SO_KEEPALIVE, true)
    // An answer sent before the request could be written is still read (`Exchange.unsent`).
    .option(ChannelOption.AUTO_CLOSE, false)
    .option(ChannelOption.RECVBUF_ALLOCATOR, AdaptiveRecvByteBufAllocator(512, 2048, Piece))
    .handler(Opened(open))

  /** Unused connections, the last used first; accessed on the thread only. Each is open, as it is removed
    * when it closes.
    */
  private val idle = mutable.HashMap.empty[InetSocketAddress, List[Channel]]

  /** Completes when the answer's head has arrived; its body must be read or cancelled. Fails with
    * `ConnectException` if the runtime cannot be reached, and with another exception if it may have been
    * reached. `within` bounds the time until it is reached, and the time until it answers.
    */
  def post(
      address: RuntimeAddress,
      path: String,
      headers: Vector[(String, String)],
      content: Content,
      within: Option[FiniteDuration]
  ): Future[Answer] =
    val answer = Promise[Answer]()
    val runtime = InetSocketAddress(address.host, address.port)
    def ask(channel: Channel): Unit =
      val exchange = Exchange(channel, answer, () => keep(runtime, channel))
      try
        channel.pipeline.get(classOf[Exchanges]).begin(exchange)
        within.foreach(exchange.expireAfter)
        send(channel, address, path, headers, content).addListener: (sent: ChannelFuture) =>
          if sent.isSuccess then exchange.sent() else exchange.unsent(sent.cause)
      catch case NonFatal(problem) => exchange.broken(problem)
    def connect(): Unit =
      val timeout = within.fold(connectTimeout)(_.min(connectTimeout)).toMillis.max(1).toInt
      val own = bootstrap.clone().option(ChannelOption.CONNECT_TIMEOUT_MILLIS, Int.box(timeout))
      own.connect(runtime).addListener: (connected: ChannelFuture) =>
        if connected.isSuccess then
          val channel = connected.channel
          channel.closeFuture.addListener((_: ChannelFuture) => forget(runtime, channel))
          ask(channel)
        else answer.failure(unreached(connected.cause))
    def begin(): Unit =
      try taken(runtime).fold(connect())(ask)
      catch
        case NonFatal(problem) =>
          val _ = answer.tryFailure(problem)
    try thread.execute(() => begin())
    // It is closed.
    catch case problem: RejectedExecutionException => answer.failure(unreached(problem))
    answer.future

  private def taken(runtime: InetSocketAddress): Option[Channel] =
    idle.remove(runtime).getOrElse(Nil).dropWhile(!_.isActive) match
      case last :: others =>
        if others.nonEmpty then idle(runtime) = others
        Some(last)
      case Nil => None

  private def keep(runtime: InetSocketAddress, channel: Channel): Unit =
    idle(runtime) = channel :: idle.getOrElse(runtime, Nil)

  private def forget(runtime: InetSocketAddress, channel: Channel): Unit =
    val _ = idle.updateWith(runtime)(_.map(_.filterNot(_ == channel)).filter(_.nonEmpty))

  /** Requests in progress fail. The thread may end without handling its connections: they are closed first.
    */
  override def close(): Unit =
    val _ = open.close().addListener((_: ChannelGroupFuture) => thread.shutdownGracefully(0, 1, SECONDS))

private[runtime] object RuntimeConnections:
  /** The body of a request to a runtime. */
  enum Content:
    case Bytes(form: String, bytes: ByteString)
    case Archive(path: Path)

  final case class Answer(status: Int, headers: HttpHeaders, body: AnswerBody)

  private val LargeBody = 64 * 1024

  /** Bytes that are read or written at once. */
  private val Piece = 256 * 1024
  private val Limits = HttpDecoderConfig()
    .setMaxInitialLineLength(4096)
    .setMaxHeaderSize(16 * 1024)
    .setMaxChunkSize(Piece)

  private final class Opened(open: ChannelGroup) extends ChannelInitializer[Channel]:
    override def isSharable: Boolean = true
    def initChannel(channel: Channel): Unit =
      open.add(channel)
      val exchanges = Exchanges()
      val _ = channel.pipeline.addLast(
        Answers(Limits, exchanges),
        HttpRequestEncoder(),
        ChunkedWriteHandler(),
        exchanges
      )

  private def unreached(problem: Throwable): ConnectException = problem match
    case known: ConnectException => known
    case other =>
      val unreached = ConnectException(Option(other.getMessage).getOrElse(other.getClass.getSimpleName))
      unreached.initCause(other)
      unreached

  /** Sends a request; large bodies piece by piece, as the runtime reads them: packs of a flare can share
    * inputs.
    */
  private def send(
      channel: Channel,
      address: RuntimeAddress,
      path: String,
      headers: Vector[(String, String)],
      content: Content
  ): ChannelFuture =
    def described[R <: HttpRequest](request: R, form: String, length: Long): R =
      request.headers.set(HttpHeaderNames.HOST, s"${address.host}:${address.port}")
      headers.foreach((name, value) => request.headers.set(name, value))
      request.headers.set(HttpHeaderNames.CONTENT_TYPE, form).set(HttpHeaderNames.CONTENT_LENGTH, length)
      request
    def inPieces(form: String, length: Long, bytes: InputStream) =
      channel.write(described(DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, path), form, length))
      channel.writeAndFlush(HttpChunkedInput(ChunkedStream(bytes, Piece)))
    content match
      case Content.Bytes(form, bytes) if bytes.length <= LargeBody =>
        val body = Unpooled.wrappedBuffer(bytes.toArrayUnsafe())
        val request = DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, path, body)
        channel.writeAndFlush(described(request, form, bytes.length))
      case Content.Bytes(form, bytes) => inPieces(form, bytes.length, bytes.asInputStream)
      case Content.Archive(file) =>
        inPieces("application/octet-stream", Files.size(file), Files.newInputStream(file))
