package burst.invoker.runtime

import burst.invoker.runtime.RuntimeConnections.Content
import java.net.{InetAddress, InetSocketAddress}
import java.nio.ByteBuffer
import java.nio.channels.{SelectionKey, Selector, ServerSocketChannel}
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}
import java.util.concurrent.Flow.{Subscriber, Subscription}
import org.apache.pekko.util.ByteString
import scala.concurrent.{Await, Promise}
import scala.jdk.CollectionConverters.*
import scala.util.{Random, Using}

/** Bodies of responses and requests, also large ones, and clients that cancel midway. */
class AnswerBodySuite extends WithPeer:
  import RuntimeConnectionsSuite.*

  private def random(length: Int) = Random(length).nextBytes(length)
  private def sum(bytes: ByteString) = Peer.sum(bytes.toArray, bytes.length)

  test("a body without demand is read only up to a limit, and completely once there is demand"):
    val bytes = random(64 << 20)
    val connections = RuntimeConnections(TestTimeout)
    Using.resources(ServerSocketChannel.open(), Selector.open()): (server, selector) =>
      server.bind(InetSocketAddress(InetAddress.getLoopbackAddress, 0))
      val answer = ask(connections, server.socket.getLocalPort, "/")
      val peer = server.accept()
      val head =
        ByteBuffer.wrap(s"HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n".getBytes(ISO_8859_1))
      peer.write(head)
      val found = Await.result(answer, TestTimeout)
      peer.configureBlocking(false)
      peer.register(selector, SelectionKey.OP_WRITE)
      val rest = ByteBuffer.wrap(bytes)

      /** Writes until the other side has taken nothing for this long. */
      def fill(millis: Long): Unit =
        while rest.hasRemaining && selector.select(millis) > 0 do
          selector.selectedKeys.clear()
          peer.write(rest)
      fill(500)
      // Most of it is in the kernel's buffers.
      assert(rest.position() < (16 << 20), rest.position())
      val writing = Peer.inBackground(fill(TestTimeout.toMillis))
      val body = Await.result(read(found).all, TestTimeout)
      assertEquals((body.length, sum(body)), (bytes.length, Peer.sum(bytes, bytes.length)))
      Await.result(writing, TestTimeout)
      peer.close()
    connections.close()

  both("a large number of small chunks arrives in few pieces"): (connections, peer) =>
    val answer = ask(connections, peer.port, "/")
    val connection = peer.accept()
    connection.path()
    val sent = Random(1).alphanumeric.take(200_000).mkString
    val writing = Peer.inBackground(connection.write(chunked(sent)))
    val body = read(Await.result(answer, TestTimeout))
    assertEquals(Await.result(body.all, TestTimeout).utf8String, sent)
    assert(body.pieces < 20_000, body.pieces)
    Await.result(writing, TestTimeout)

  both("cancelling a body before its end closes the connection"): (connections, peer) =>
    for subscribed <- Vector(true, false) do
      val answer = ask(connections, peer.port, "/")
      val connection = peer.accept()
      connection.path()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhal")
      val found = Await.result(answer, TestTimeout)
      if subscribed then Await.result(read(found).first, TestTimeout)
      found.body.cancel()
      assertEquals(connection.untilClosed(), 0L)

  both("cancelling a body after its end affects neither the connection nor its next use"):
    (connections, peer) =>
      val first = ask(connections, peer.port, "/1")
      val connection = peer.accept()
      connection.path()
      connection.answer("one")
      val found = Await.result(first, TestTimeout)
      val second = ask(connections, peer.port, "/2")
      assertEquals(connection.path(), "/2")
      found.body.cancel()
      found.body.request(1)
      connection.answer("two")
      assertEquals(text(second), "two")

  both("a complete body that nobody has read yet blocks no other request"): (connections, peer) =>
    val large = "a" * 300_000
    val first = ask(connections, peer.port, "/1")
    val connection = peer.accept()
    connection.path()
    connection.write(s"HTTP/1.1 200 OK\r\nContent-Length: ${large.length}\r\n\r\n")
    val found = Await.result(first, TestTimeout)
    // More than the client buffers before it stops reading: the rest arrives once this was taken.
    val writing = Peer.inBackground(connection.write(large))
    assertEquals(Await.result(read(found).all, TestTimeout).length, large.length)
    Await.result(writing, TestTimeout)
    val second = ask(connections, peer.port, "/2")
    assertEquals(connection.path(), "/2")
    connection.answer(large)
    val unread = Await.result(second, TestTimeout)
    val third = ask(connections, peer.port, "/3")
    Peer.inBackground:
      val other = peer.accept()
      other.path()
      other.answer("three")
    Peer.inBackground:
      connection.path()
      connection.answer("three")
    assertEquals(text(third), "three")
    assertEquals(Await.result(read(unread).all, TestTimeout).length, large.length)

  both("a subscriber that throws is dropped and harms no other request"): (connections, peer) =>
    final class Thrower(when: String) extends Subscriber[ByteString]:
      val thrown = Promise[Unit]()
      private def at(moment: String): Unit = if moment == when then
        thrown.trySuccess(())
        throw IllegalStateException(when)
      def onSubscribe(subscription: Subscription): Unit =
        at("subscribed")
        subscription.request(Long.MaxValue)
      def onNext(bytes: ByteString): Unit = at("next")
      def onError(problem: Throwable): Unit = at("error")
      def onComplete(): Unit = at("complete")
    for when <- Vector("subscribed", "next", "error", "complete") do
      val answer = ask(connections, peer.port, "/")
      val connection = peer.accept()
      connection.path()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhal")
      val thrower = Thrower(when)
      Await.result(answer, TestTimeout).body.subscribe(thrower)
      when match
        case "complete" => connection.write("fed")
        case "error" => connection.endOutput()
        case _ => ()
      Await.result(thrower.thrown.future, TestTimeout)
      // A failing subscriber does not affect a connection whose response is complete.
      if when == "complete" then
        val next = ask(connections, peer.port, "/2")
        connection.path()
        connection.answer("two", "Connection: close")
        assertEquals(text(next), "two")
      assertEquals(connection.untilClosed(), 0L)

  private def archive(bytes: Array[Byte])(use: Path => Unit): Unit =
    val file = Files.createTempFile("archive", ".zip")
    try use(Files.write(file, bytes))
    finally Files.delete(file)

  both("a large request arrives complete, from memory and from a file"): (connections, peer) =>
    val bytes = random(50 << 20)
    val pieces = bytes.grouped(7 << 20).map(ByteString.fromArray(_)).reduce(_ ++ _)
    archive(bytes): file =>
      val contents = Vector(
        Content.Bytes("text/plain", ByteString.fromArrayUnsafe(bytes)),
        Content.Bytes("text/plain", pieces),
        Content.Archive(file)
      )
      val answers = Peer.inBackground:
        contents.map(content => text(ask(connections, peer.port, "/large", content)))
      val connection = peer.accept()
      for _ <- contents do
        assertEquals(connection.request(), ("/large", bytes.length, Peer.sum(bytes, bytes.length)))
        connection.answer("taken")
      assertEquals(Await.result(answers, TestTimeout), contents.map(_ => "taken"))
      Files.write(file, Array.emptyByteArray)
      val answer = ask(connections, peer.port, "/empty", Content.Archive(file))
      assertEquals(connection.request(), ("/empty", 0, 0L))
      connection.answer("taken")
      assertEquals(text(answer), "taken")

  both("a response before the whole request was sent is accepted, and ends the connection"):
    (connections, peer) =>
      val large = Content.Bytes("text/plain", ByteString.fromArrayUnsafe(new Array[Byte](50 << 20)))
      val answer = ask(connections, peer.port, "/large", large)
      val connection = peer.accept()
      connection.path()
      connection.answer("enough")
      assertEquals(text(answer), "enough")
      assert(connection.untilClosed() < (50 << 20))

  /** Whether this process has the file open. */
  private def isOpen(file: Path): Boolean =
    Using.resource(Files.list(Path.of("/proc/self/fd"))): links =>
      links.iterator.asScala.exists: link =>
        scala.util.Try(Files.readSymbolicLink(link)).toOption.contains(file.toRealPath())

  private def await(what: => Boolean): Unit =
    val until = TestTimeout.fromNow
    while !what && until.hasTimeLeft() do Thread.`yield`()
    assert(what)

  both("if a peer refuses a large request and hangs up, its response is read and the file closed"):
    (connections, peer) =>
      assume(Files.isDirectory(Path.of("/proc/self/fd")), "only there it is seen")
      archive(new Array[Byte](32 << 20)): file =>
        for _ <- 1 to 10 do
          val answer = ask(connections, peer.port, "/large", Content.Archive(file))
          val connection = peer.accept()
          connection.path()
          assert(isOpen(file))
          connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 5\r\n\r\nlarge")
          connection.close()
          val found = Await.result(answer, TestTimeout)
          assertEquals((found.status, Await.result(read(found).all, TestTimeout)), (413, ByteString("large")))
          await(!isOpen(file))

  both("a request fails if the peer hangs up without a response"): (connections, peer) =>
    archive(new Array[Byte](32 << 20)): file =>
      val answer = ask(connections, peer.port, "/large", Content.Archive(file))
      val connection = peer.accept()
      connection.path()
      connection.close()
      assert(failed(answer).isInstanceOf[java.io.IOException])
      val missing = ask(connections, peer.port, "/large", Content.Archive(Path.of("/nowhere")))
      assert(failed(missing).isInstanceOf[java.nio.file.NoSuchFileException])
