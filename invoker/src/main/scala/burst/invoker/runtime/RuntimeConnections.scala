package burst.invoker.runtime

import burst.invoker.driver.RuntimeAddress
import io.netty.bootstrap.Bootstrap
import io.netty.buffer.{ByteBuf, Unpooled}
import io.netty.channel.nio.NioIoHandler
import io.netty.channel.pool.{AbstractChannelPoolMap, ChannelPoolHandler, SimpleChannelPool}
import io.netty.channel.socket.nio.NioSocketChannel
import io.netty.channel.{
  AdaptiveRecvByteBufAllocator,
  Channel,
  ChannelFuture,
  ChannelOption,
  MultiThreadIoEventLoopGroup
}
import io.netty.handler.codec.http.*
import io.netty.handler.stream.{ChunkedInput, ChunkedNioFile, ChunkedStream, ChunkedWriteHandler}
import io.netty.util.concurrent.{DefaultThreadFactory, Future as NettyFuture}
import java.net.InetSocketAddress
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{Future, Promise}
import scala.util.control.NonFatal

/** Connections with the runtimes in containers (HTTP/1.1), all served by one thread: what an exchange takes
  * is a fixed part of every invocation.
  *
  * They are kept and used again, and no request waits for one: there are as many with a runtime as have been
  * in use at once. They end with it.
  */
private[runtime] final class RuntimeConnections(connectTimeout: FiniteDuration) extends AutoCloseable:
  import RuntimeConnections.*

  private val thread =
    MultiThreadIoEventLoopGroup(1, DefaultThreadFactory("burst-runtimes", true), NioIoHandler.newFactory())

  private val bootstrap = Bootstrap()
    .group(thread)
    .channel(classOf[NioSocketChannel])
    .option(ChannelOption.TCP_NODELAY, true)
    .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, connectTimeout.toMillis.toInt)
    .option(ChannelOption.RECVBUF_ALLOCATOR, AdaptiveRecvByteBufAllocator(512, 2048, Piece))

  private val pools = new AbstractChannelPoolMap[InetSocketAddress, SimpleChannelPool]:
    protected def newPool(runtime: InetSocketAddress): SimpleChannelPool =
      SimpleChannelPool(bootstrap.clone().remoteAddress(runtime), Opened(runtime))

  /** Done when the answer's head has come; its body is to be read or cancelled. Fails with `ConnectException`
    * where the runtime cannot be reached, and with another exception where it may have been. `within` bounds
    * the time until then.
    */
  def post(
      address: RuntimeAddress,
      path: String,
      headers: Vector[(String, String)],
      content: Content,
      within: Option[FiniteDuration]
  ): Future[Answer] =
    val answer = Promise[Answer]()
    val pool = pools.get(InetSocketAddress(address.host, address.port))
    pool.acquire().addListener: (acquired: NettyFuture[Channel]) =>
      if acquired.isSuccess then
        val channel = acquired.getNow
        val exchange = Exchange(channel, answer, () => pool.release(channel))
        try
          channel.pipeline.get(classOf[Exchanges]).begin(exchange)
          within.foreach(exchange.expireAfter)
          send(channel, address, path, headers, content).addListener: (sent: ChannelFuture) =>
            if sent.isSuccess then exchange.sent() else exchange.broken(sent.cause)
        catch case NonFatal(problem) => exchange.broken(problem)
      else answer.failure(acquired.cause)
    answer.future

  override def close(): Unit =
    val _ = thread.shutdownGracefully(0, 1, SECONDS)

  /** Has each connection made ready, and the pool forgotten with the last of them. */
  private final class Opened(runtime: InetSocketAddress) extends ChannelPoolHandler:
    private val open = AtomicInteger()

    def channelCreated(channel: Channel): Unit =
      open.incrementAndGet()
      channel.closeFuture.addListener: (_: ChannelFuture) =>
        if open.decrementAndGet() == 0 then
          val _ = pools.remove(runtime)
      channel.pipeline.addLast(
        HttpClientCodec(MostInLine, MostInHead, Piece),
        ChunkedWriteHandler(),
        Exchanges()
      )

    def channelAcquired(channel: Channel): Unit = ()
    def channelReleased(channel: Channel): Unit = ()

private[runtime] object RuntimeConnections:
  /** What a runtime is sent. */
  enum Content:
    case Bytes(form: String, bytes: ByteString)
    case Archive(path: Path)

  final case class Answer(status: Int, headers: HttpHeaders, body: AnswerBody)

  private val LargeBody = 64 * 1024

  /** Bytes that are read or written at once. */
  private val Piece = 256 * 1024
  private val MostInLine = 4096
  private val MostInHead = 16 * 1024

  /** Large ones piece by piece, as they are taken: packs of a flare may share their inputs. */
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
    def inPieces(form: String, length: Long, pieces: ChunkedInput[ByteBuf]) =
      channel.write(described(DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, path), form, length))
      channel.writeAndFlush(HttpChunkedInput(pieces))
    content match
      case Content.Bytes(form, bytes) if bytes.length <= LargeBody =>
        val body = Unpooled.wrappedBuffer(bytes.toArrayUnsafe())
        val whole = DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, path, body)
        channel.writeAndFlush(described(whole, form, bytes.length))
      case Content.Bytes(form, bytes) =>
        inPieces(form, bytes.length, ChunkedStream(bytes.asInputStream, Piece))
      case Content.Archive(file) =>
        val form = "application/octet-stream"
        inPieces(form, Files.size(file), ChunkedNioFile(FileChannel.open(file), Piece))
