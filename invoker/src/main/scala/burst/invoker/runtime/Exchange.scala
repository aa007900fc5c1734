package burst.invoker.runtime

import burst.invoker.runtime.RuntimeConnections.Answer
import io.netty.buffer.ByteBufUtil
import io.netty.channel.{Channel, ChannelHandlerContext, SimpleChannelInboundHandler}
import io.netty.handler.codec.http.{HttpContent, HttpObject, HttpResponse, HttpUtil, LastHttpContent}
import io.netty.util.concurrent.Future as NettyFuture
import java.io.IOException
import java.net.http.HttpTimeoutException
import java.util.concurrent.Flow.{Publisher, Subscriber, Subscription}
import java.util.concurrent.TimeUnit.NANOSECONDS
import org.apache.pekko.util.ByteString
import scala.concurrent.Promise
import scala.concurrent.duration.FiniteDuration

/** A request and its answer on their connection, which takes the next one (`release`) after an answer to its
  * end, and is closed by anything else. Used on the connections' thread.
  */
private[runtime] final class Exchange(channel: Channel, answer: Promise[Answer], release: () => Unit):
  private var body = Option.empty[AnswerBody]
  private var expiry = Option.empty[NettyFuture[?]]
  private var isSent = false
  private var mayKeep = true
  private var over = false

  def expireAfter(within: FiniteDuration): Unit =
    val expire: Runnable = () => broken(HttpTimeoutException(s"no answer within $within"))
    expiry = Some(channel.eventLoop.schedule(expire, within.toNanos, NANOSECONDS))

  def sent(): Unit = isSent = true

  def head(response: HttpResponse): Unit =
    expiry.foreach(_.cancel(false))
    mayKeep = HttpUtil.isKeepAlive(response)
    val own = AnswerBody(channel)
    body = Some(own)
    val _ = answer.trySuccess(Answer(response.status.code, response.headers, own))

  def arrived(bytes: ByteString): Unit = body.foreach(_.arrived(bytes))

  /** All that is there has arrived. */
  def passOn(): Unit = body.foreach(_.deliver())

  def ended(): Unit = if !over then
    over = true
    channel.config.setAutoRead(true)
    // An answer to what has not been sent whole leaves the rest of it on its way.
    if mayKeep && isSent then release() else channel.close()
    body.foreach(_.ended(None))

  def broken(problem: Throwable): Unit = if !over then
    over = true
    expiry.foreach(_.cancel(false))
    channel.close()
    if !answer.tryFailure(problem) then body.foreach(_.ended(Some(problem)))

/** The last of a connection's handlers: what comes in is the answer to what was asked last. */
private[runtime] final class Exchanges extends SimpleChannelInboundHandler[HttpObject]:
  private var current = Option.empty[Exchange]

  def begin(exchange: Exchange): Unit = current = Some(exchange)

  override def channelRead0(context: ChannelHandlerContext, message: HttpObject): Unit = current match
    // Nobody has asked.
    case None =>
      val _ = context.close()
    case Some(exchange) if message.decoderResult.isFailure =>
      exchange.broken(BrokenStream("the runtime's answer is not HTTP"))
    case Some(exchange) =>
      message match
        case response: HttpResponse => exchange.head(response)
        case _ => ()
      message match
        case content: HttpContent =>
          val bytes = content.content
          if bytes.isReadable then exchange.arrived(ByteString.fromArrayUnsafe(ByteBufUtil.getBytes(bytes)))
          if content.isInstanceOf[LastHttpContent] then
            current = None
            exchange.ended()
        case _ => ()

  override def channelReadComplete(context: ChannelHandlerContext): Unit = current.foreach(_.passOn())

  override def channelInactive(context: ChannelHandlerContext): Unit =
    current.foreach(_.broken(IOException("the runtime closed the connection")))

  override def exceptionCaught(context: ChannelHandlerContext, cause: Throwable): Unit =
    current.foreach(_.broken(cause))
    val _ = context.close()

/** The bytes of an answer, in pieces as they come, to one subscriber. What it has not asked for is held here,
  * and no more than that is read from the connection. To cancel it closes the connection, unless all of it
  * has come.
  */
private[runtime] final class AnswerBody(channel: Channel) extends Publisher[ByteString], Subscription:
  import AnswerBody.Most

  // Of the connection's thread.
  private var subscriber = Option.empty[Subscriber[? >: ByteString]]
  private var asked = 0L
  private var waiting = ByteString.empty
  private var outcome = Option.empty[Option[Throwable]]
  private var over = false

  def subscribe(own: Subscriber[? >: ByteString]): Unit = onThread:
    subscriber = Some(own)
    own.onSubscribe(this)
    deliver()

  def request(more: Long): Unit = onThread:
    asked = if asked + more < 0 then Long.MaxValue else asked + more
    deliver()

  def cancel(): Unit = onThread:
    over = true
    waiting = ByteString.empty
    if outcome.isEmpty then
      val _ = channel.close()

  /** For who wants nothing of it: it is read to its end, and the connection used again. */
  def discard(): Unit = subscribe(AnswerBody.Nobody())

  def arrived(bytes: ByteString): Unit = if !over then
    waiting ++= bytes
    if waiting.length >= Most then
      val _ = channel.config.setAutoRead(false)

  def ended(problem: Option[Throwable]): Unit =
    outcome = Some(problem)
    deliver()

  def deliver(): Unit = subscriber.filterNot(_ => over).foreach: own =>
    if waiting.nonEmpty && asked > 0 then
      val bytes = waiting
      waiting = ByteString.empty
      asked -= 1
      own.onNext(bytes)
    if !over && waiting.isEmpty then
      outcome match
        case None =>
          val _ = channel.config.setAutoRead(true)
        case Some(problem) =>
          over = true
          problem.fold(own.onComplete())(own.onError)

  private def onThread(work: => Unit): Unit =
    if channel.eventLoop.inEventLoop then work else channel.eventLoop.execute(() => work)

private[runtime] object AnswerBody:
  /** Bytes that are held before no more is read. */
  private val Most = 256 * 1024

  private final class Nobody extends Subscriber[ByteString]:
    def onSubscribe(subscription: Subscription): Unit = subscription.request(Long.MaxValue)
    def onNext(bytes: ByteString): Unit = ()
    def onError(problem: Throwable): Unit = ()
    def onComplete(): Unit = ()
