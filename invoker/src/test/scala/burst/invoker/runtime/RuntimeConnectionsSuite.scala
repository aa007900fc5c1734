package burst.invoker.runtime

import burst.invoker.driver.RuntimeAddress
import burst.invoker.runtime.RuntimeConnections.{Answer, Content}
import burst.protocol.Secret
import java.net.ConnectException
import java.net.http.HttpTimeoutException
import java.util.concurrent.Flow.{Subscriber, Subscription}
import org.apache.pekko.util.ByteString
import scala.concurrent.ExecutionContext.parasitic
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Await, Future, Promise}
import scala.util.Success

/** When a connection is reused, and what closes it. */
class RuntimeConnectionsSuite extends WithPeer:
  import RuntimeConnectionsSuite.*

  both("a connection is reused after a complete response, but not by two at once"): (connections, peer) =>
    val first = ask(connections, peer.port, "/1")
    val connection = peer.accept()
    assertEquals(connection.path(), "/1")
    connection.answer("one")
    assertEquals(text(first), "one")
    val second = ask(connections, peer.port, "/2")
    assertEquals(connection.path(), "/2")
    val third = ask(connections, peer.port, "/3")
    val other = peer.accept()
    assertEquals(other.path(), "/3")
    other.answer("three")
    connection.write(chunked("two"))
    assertEquals((text(second), text(third)), ("two", "three"))
    // The connection that was used last.
    for (again, path) <- Vector(connection -> "/4", connection -> "/5") do
      val answer = ask(connections, peer.port, path)
      assertEquals(again.path(), path)
      again.answer(path)
      assertEquals(text(answer), path)

  both("each response goes to its own request, however many run at once"): (connections, peer) =>
    val serving = Peer.inBackground:
      while true do
        val connection = peer.accept()
        Peer.inBackground(while true do connection.answer(connection.path()))
    val clients =
      for worker <- 1 to 8 yield Peer.inBackground:
        for n <- 1 to 50 do
          val path = s"/$worker/$n"
          assertEquals(text(ask(connections, peer.port, path)), path)
    clients.foreach(Await.result(_, TestTimeout))
    assert(!serving.isCompleted)

  both("a connection that the runtime has closed is not reused"): (connections, peer) =>
    val connection = used(connections, peer)
    connection.endOutput()
    assertEquals(connection.untilClosed(), 0L)
    val second = ask(connections, peer.port, "/2")
    val other = peer.accept()
    assertEquals(other.path(), "/2")
    other.answer("two")
    assertEquals(text(second), "two")

  both("a request whose connection the runtime closes fails, and none hangs"): (connections, peer) =>
    val connection = used(connections, peer)
    val second = ask(connections, peer.port, "/2")
    connection.path()
    connection.close()
    assert(failed(second).isInstanceOf[java.io.IOException])
    val _ = Peer.inBackground:
      while true do
        val next = peer.accept()
        next.path()
        next.answer("once")
        next.close()
    val outcomes =
      for n <- 1 to 200 yield
        val answer = ask(connections, peer.port, s"/$n")
        Await.ready(answer, TestTimeout).value match
          case Some(Success(found)) => text(Future.successful(found))
          case other => other.fold("")(_.fold(_.getClass.getSimpleName, _ => ""))
    assert(outcomes.contains("once"), outcomes.toSet)

  both("a truncated response is an error, however its length is given"): (connections, peer) =>
    for
      head <- Vector("Content-Length: 6\r\n\r\nhal", "Transfer-Encoding: chunked\r\n\r\n3\r\nhal\r\n")
      early <- Vector(true, false)
    do
      val answer = ask(connections, peer.port, "/")
      val connection = peer.accept()
      connection.path()
      connection.write(s"HTTP/1.1 200 OK\r\n$head")
      if early then
        connection.close()
        val body = answer.flatMap(read(_).all)(using parasitic)
        assert(Await.ready(body, TestTimeout).value.exists(_.isFailure))
      else
        val body = read(Await.result(answer, TestTimeout))
        assertEquals(Await.result(body.first, TestTimeout), ByteString("hal"))
        connection.close()
        assert(Await.ready(body.all, TestTimeout).value.exists(_.isFailure))

  both("a response without a length ends when its connection is closed"): (connections, peer) =>
    val answer = ask(connections, peer.port, "/")
    val connection = peer.accept()
    connection.path()
    connection.write("HTTP/1.1 200 OK\r\n\r\nall of it")
    connection.close()
    assertEquals(text(answer), "all of it")

  both("'Connection: close' is honoured, and implied by HTTP/1.0"): (connections, peer) =>
    for answered <- Vector(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\none",
        "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\none"
      )
    do
      val answer = ask(connections, peer.port, "/")
      val connection = peer.accept()
      connection.path()
      connection.write(answered)
      assertEquals(text(answer), "one")
      assertEquals(connection.untilClosed(), 0L)

  both("unrequested bytes end an idle connection, even part of a response"): (connections, peer) =>
    for unsolicited <- Vector(s"${response("unasked")}", "HTTP/1.1 200 OK\r\nX-", "\r\n", "?") do
      val connection = used(connections, peer)
      connection.write(unsolicited)
      assertEquals(connection.untilClosed(), 0L, unsolicited)
      val next = ask(connections, peer.port, "/2")
      val other = peer.accept()
      other.path()
      other.answer("asked", "Connection: close")
      assertEquals(text(next), "asked")

  both("bytes after a response end the connection, and the response is complete"): (connections, peer) =>
    for more <- Vector(response("unasked"), "HTTP/1.1 200 OK\r\n", "HTTP/1", "\r\n", "?") do
      val first = ask(connections, peer.port, "/1")
      val connection = peer.accept()
      connection.path()
      connection.write(response("one") + more)
      assertEquals(text(first), "one")
      assertEquals(connection.untilClosed(), 0L, more)

  both("an interim response is refused, as its end is not that of the response"): (connections, peer) =>
    for status <- Vector("100 Continue", "102 Processing", "101 Switching Protocols") do
      val answer = ask(connections, peer.port, "/1")
      val connection = peer.accept()
      connection.path()
      connection.write(s"HTTP/1.1 $status\r\n\r\n")
      assert(failed(answer).isInstanceOf[BrokenStream])
      assertEquals(connection.untilClosed(), 0L)

  both("invalid HTTP fails, as do a head, a line and a trailer without an end"): (connections, peer) =>
    val chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    val broken = Vector(
      "SSH-2.0-OpenSSH_9.6\r\n" -> "",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" -> "",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n" -> "",
      s"${chunks}what\r\n" -> "",
      s"${chunks}1\r\nabc\r\n" -> "",
      "" -> "a" * 5000,
      "HTTP/1.1 200 OK\r\n" -> "X: y\r\n",
      "HTTP/1.1 200 OK\r\nX: " -> "a" * 5000,
      s"${chunks}1;" -> "a" * 5000,
      s"${chunks}0\r\n" -> "X: y\r\n"
    )
    for (start, endless) <- broken do
      val answer = ask(connections, peer.port, "/").flatMap(read(_).all)(using parasitic)
      val connection = peer.accept()
      connection.path()
      val writing = Peer.inBackground:
        connection.write(start)
        if endless.nonEmpty then connection.writeOn(endless)
      assert(failed(answer).isInstanceOf[BrokenStream], s"$start ${failed(answer)}")
      connection.untilClosed()
      Await.ready(writing, TestTimeout)

  both("a request without a response in time fails and ends its connection"): (connections, peer) =>
    val answer = ask(connections, peer.port, "/", within = Some(10.seconds))
    val connection = peer.accept()
    connection.path()
    connection.write("HTTP/1.1 200 OK\r\nContent-Le")
    assert(failed(answer).isInstanceOf[HttpTimeoutException])
    assertEquals(connection.untilClosed(), 0L)

  both("a peer that begins its response in time may take any time for the rest"): (connections, peer) =>
    // Long enough for a busy machine, too.
    val time = Some(15.seconds)
    val answer = ask(connections, peer.port, "/", within = time)
    val connection = peer.accept()
    connection.path()
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
    val body = read(Await.result(answer, TestTimeout))
    Await.result(body.first, TestTimeout)
    // The timer of this request begins after the first one's.
    val later = ask(connections, peer.port, "/", within = time)
    assert(failed(later).isInstanceOf[HttpTimeoutException])
    connection.write("b")
    assertEquals(Await.result(body.all, TestTimeout), ByteString("ab"))

  test("a runtime that nothing listens for is told apart from one that may have been reached"):
    val connections = RuntimeConnections(TestTimeout)
    try assert(failed(ask(connections, port = 1, "/")).isInstanceOf[ConnectException])
    finally connections.close()

  test("closing ends the thread and pending requests, and later ones are not sent"):
    // Repeated, as the close may reach the thread at any point.
    for _ <- 1 to 50 do
      val connections = RuntimeConnections(TestTimeout)
      val peer = Peer()
      val first = ask(connections, peer.port, "/1")
      val thread = first.map(_ => Thread.currentThread)(using parasitic)
      val connection = peer.accept()
      connection.path()
      connection.answer("late")
      Await.ready(thread, TestTimeout)
      val pending = ask(connections, peer.port, "/2")
      connection.path()
      connections.close()
      val after = ask(connections, peer.port, "/3")
      assert(failed(pending).isInstanceOf[Exception])
      assertEquals(connection.untilClosed(), 0L)
      val worker = Await.result(thread, TestTimeout)
      worker.join(TestTimeout.toMillis)
      assert(!worker.isAlive)
      for late <- Vector(after, ask(connections, peer.port, "/4")) do
        assert(failed(late).isInstanceOf[ConnectException])
      assertEquals(text(first), "late")
      peer.close()

private[runtime] object RuntimeConnectionsSuite:
  /** Longer than anything takes unless it hangs. */
  val TestTimeout: FiniteDuration = 60.seconds

  def ask(
      connections: RuntimeConnections,
      port: Int,
      path: String,
      content: Content = Content.Bytes("text/plain", ByteString.empty),
      within: Option[FiniteDuration] = None
  ): Future[Answer] =
    connections.post(RuntimeAddress("127.0.0.1", port, Secret.random()), path, Vector.empty, content, within)

  def failed(answer: Future[?]): Throwable = Await.result(answer.failed, TestTimeout)

  def text(answer: Future[Answer]): String =
    Await.result(answer.flatMap(read(_).all)(using parasitic), TestTimeout).utf8String

  def response(body: String): String = s"HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n$body"

  def chunked(body: String): String =
    val pieces = body.map(letter => s"1\r\n$letter\r\n").mkString
    s"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}0\r\n\r\n"

  /** A connection that has been used once and is free. */
  def used(connections: RuntimeConnections, peer: Peer): Peer.Connection =
    val answer = ask(connections, peer.port, "/1")
    val connection = peer.accept()
    connection.path()
    connection.answer("one")
    munit.Assertions.assertEquals(text(answer), "one")
    connection

  def read(answer: Answer): Body =
    val body = Body()
    answer.body.subscribe(body)
    body

  /** Takes the whole body, piece by piece. */
  final class Body extends Subscriber[ByteString]:
    private val begun = Promise[ByteString]()
    private val ended = Promise[ByteString]()
    private val bytes = ByteString.newBuilder
    @volatile private var own = Option.empty[Subscription]
    @volatile var pieces = 0
    def first: Future[ByteString] = begun.future
    def all: Future[ByteString] = ended.future
    def onSubscribe(subscription: Subscription): Unit =
      own = Some(subscription)
      subscription.request(1)
    def onNext(piece: ByteString): Unit =
      bytes ++= piece
      pieces += 1
      begun.trySuccess(piece)
      own.foreach(_.request(1))
    def onError(problem: Throwable): Unit =
      val _ = ended.failure(problem)
    def onComplete(): Unit =
      val _ = ended.success(bytes.result())
