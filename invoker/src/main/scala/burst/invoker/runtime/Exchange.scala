package burst.invoker.runtime

import burst.invoker.runtime.RuntimeConnections.Answer
import io.netty.buffer.{ByteBuf, ByteBufUtil}
import io.netty.channel.{Channel, ChannelHandlerContext, SimpleChannelInboundHandler}
import io.netty.handler.codec.http.{
  HttpContent,
  HttpDecoderConfig,
  HttpObject,
  HttpResponse,
  HttpResponseDecoder,
  HttpUtil,
  LastHttpContent
}
import io.netty.util.concurrent.Future as NettyFuture
import java.io.IOException
import java.net.http.HttpTimeoutException
import java.util.List as JavaList
import java.util.concurrent.Flow.{Publisher, Subscriber, Subscription}
import java.util.concurrent.RejectedExecutionException
import java.util.concurrent.TimeUnit.NANOSECONDS
import org.apache.pekko.util.ByteString
import scala.concurrent.Promise
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.control.NonFatal

/** A request and its answer on their connection, which is reused (`keep`) after a complete answer, and closed
  * after anything else. Used on the connections' thread.
  *
  * Data that arrives together is passed on together, when all of it has been read (`passOn`): only then is it
  * known that nothing follows the answer, and the end of a short answer is there with its head.
  */
private[runtime] final class Exchange(channel: Channel, answer: Promise[Answer], keep: () => Unit):
  private var received = Option.empty[Answer]
  private var expiry = Option.empty[NettyFuture[?]]
  private var isSent = false
  private var mayKeep = true
  private var isComplete = false
  private var over = false

  def expireAfter(within: FiniteDuration): Unit =
    expire(within, HttpTimeoutException(s"no answer within $within"))

  private def expire(within: FiniteDuration, problem: => Throwable): Unit =
    val expired: Runnable = () => broken(problem)
    expiry.foreach(_.cancel(false))
    expiry = Some(channel.eventLoop.schedule(expired, within.toNanos, NANOSECONDS))

  def sent(): Unit = isSent = true

  /** A server that refuses a request may hang up before reading all of it: its answer can still be read. */
  def unsent(problem: Throwable): Unit =
    if !over && received.isEmpty then expire(Exchange.EarlyAnswerTimeout, problem)

  def expectsMore: Boolean = !over && !isComplete

  def head(response: HttpResponse): Unit = if !over then
    expiry.foreach(_.cancel(false))
    // An interim answer has an end of its own, which would be taken for the answer's. Nobody asked for one.
    if response.status.code < 200 then broken(BrokenStream(StreamProblem.NotFinal))
    else
      mayKeep = HttpUtil.isKeepAlive(response)
      received = Some(Answer(response.status.code, response.headers, AnswerBody(channel)))

  def arrived(bytes: ByteBuf): Unit = if !over then received.foreach(_.body.arrived(bytes))

  def end(): Unit = isComplete = true

  /** All available data has been read. */
  def passOn(): Unit = if !over then
    received.foreach: known =>
      if isComplete then
        over = true
        // If the request was not sent completely, the rest of it is still on its way.
        if mayKeep && isSent && channel.isActive then
          channel.config.setAutoRead(true)
          keep()
        else channel.close()
        known.body.ended(None)
      if !answer.trySuccess(known) then known.body.deliver()

  def broken(problem: Throwable): Unit = if !over then
    over = true
    expiry.foreach(_.cancel(false))
    channel.close()
    if !answer.tryFailure(problem) then received.foreach(_.body.ended(Some(problem)))

private[runtime] object Exchange:
  /** How long it waits for what the server sent before the connection broke. */
  private val EarlyAnswerTimeout = 1.second

/** The first of a connection's handlers. Data that arrives while no answer is expected is discarded, even a
  * part of one: it would become the beginning of the next answer.
  */
private[runtime] final class Answers(config: HttpDecoderConfig, exchanges: Exchanges)
    extends HttpResponseDecoder(config):
  override protected def decode(
      context: ChannelHandlerContext,
      bytes: ByteBuf,
      out: JavaList[AnyRef]
  ): Unit =
    if exchanges.expectMore then super.decode(context, bytes, out)
    else
      bytes.skipBytes(bytes.readableBytes)
      val _ = context.close()

/** The last of a connection's handlers: assigns what arrives to the last request. */
private[runtime] final class Exchanges extends SimpleChannelInboundHandler[HttpObject]:
  private var current = Option.empty[Exchange]

  def begin(exchange: Exchange): Unit = current = Some(exchange)

  def expectMore: Boolean = current.exists(_.expectsMore)

  override def channelRead0(context: ChannelHandlerContext, message: HttpObject): Unit =
    current.foreach: exchange =>
      if message.decoderResult.isFailure then
        exchange.broken(BrokenStream(StreamProblem.NotHttp))
      else
        message match
          case response: HttpResponse => exchange.head(response)
          case _ => ()
        message match
          case content: HttpContent =>
            exchange.arrived(content.content)
            if content.isInstanceOf[LastHttpContent] then exchange.end()
          case _ => ()

  override def channelReadComplete(context: ChannelHandlerContext): Unit =
    val exchange = current
    current = current.filter(_.expectsMore)
    exchange.foreach(_.passOn())

  override def channelInactive(context: ChannelHandlerContext): Unit =
    current.foreach(_.broken(IOException("the runtime closed the connection")))

  override def exceptionCaught(context: ChannelHandlerContext, cause: Throwable): Unit =
    current.foreach(_.broken(cause))
    val _ = context.close()

/** The bytes of an answer, in pieces as they arrive, for one subscriber. Bytes that it has not requested are
  * held here, up to a bound beyond which nothing is read from the connection. Cancelling closes the
  * connection, unless the answer is complete.
  */
private[runtime] final class AnswerBody(channel: Channel) extends Publisher[ByteString], Subscription:
  import AnswerBody.Most

  // Used on the connection's thread only.
  private var subscriber = Option.empty[Subscriber[? >: ByteString]]
  private var requested = 0L
  private var waiting = Pieces.Empty
  private var outcome = Option.empty[Option[Throwable]]
  private var over = false

  def subscribe(own: Subscriber[? >: ByteString]): Unit = onThread:
    subscriber = Some(own)
    guarded(own.onSubscribe(this))
    deliver()

  def request(more: Long): Unit = onThread:
    requested = if requested + more < 0 then Long.MaxValue else requested + more
    deliver()

  def cancel(): Unit = onThread:
    over = true
    waiting = Pieces.Empty
    if outcome.isEmpty then
      val _ = channel.close()

  def arrived(bytes: ByteBuf): Unit = if !over && bytes.isReadable then
    waiting += ByteString.fromArrayUnsafe(ByteBufUtil.getBytes(bytes))
    if waiting.length >= Most then
      val _ = channel.config.setAutoRead(false)

  def ended(problem: Option[Throwable]): Unit =
    outcome = Some(problem)
    deliver()

  def deliver(): Unit = subscriber.filterNot(_ => over).foreach: own =>
    if !waiting.isEmpty && requested > 0 then
      val bytes = waiting.toByteString
      waiting = Pieces.Empty
      requested -= 1
      guarded(own.onNext(bytes))
    if !over && waiting.isEmpty then
      outcome match
        // The connection belongs to this answer until its outcome is known.
        case None =>
          val _ = channel.config.setAutoRead(true)
        case Some(problem) =>
          over = true
          guarded(problem.fold(own.onComplete())(own.onError))

  /** A subscriber that throws is dropped: others that share the thread, or the connection later, must not
    * suffer.
    */
  private def guarded(call: => Unit): Unit =
    try call
    catch case NonFatal(_) => cancel()

  private def onThread(work: => Unit): Unit =
    if channel.eventLoop.inEventLoop then work
    else
      try channel.eventLoop.execute(() => work)
      // The thread has ended, and every connection before it: only the outcome is still to be delivered.
      catch case _: RejectedExecutionException => work

private[runtime] object AnswerBody:
  /** How many bytes are held before reading stops. */
  private val Most = 256 * 1024
