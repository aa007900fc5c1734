package burst.controller.http

import burst.controller.store.{addLogs, insert}
import burst.controller.flare.{FlareState, LogText}
import burst.controller.store.Samples
import burst.protocol.{LogStream, PackId, Timestamp}
import java.io.EOFException
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest}
import java.net.{SocketException, SocketTimeoutException, URI}
import scala.concurrent.duration.DurationInt
import scala.util.{Success, Try, Using}

/** Raw connections, which cost a client almost nothing. */
abstract class ConnectionSuite extends HttpSuite:
  protected def connect(): RawConnection = RawConnection(port)

  protected def raw[A](use: RawConnection => A): A = Using.resource(connect())(use)

  protected def get(path: String, auth: String = credentials, more: String = ""): String =
    s"GET $path HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(auth)}\r\n$more\r\n"

  protected def head(method: String, path: String, more: String*): String =
    (Seq(
      s"$method $path HTTP/1.1",
      "Host: x",
      s"Authorization: ${basic(credentials)}",
      "Content-Type: application/json"
    ) ++ more).mkString("", "\r\n", "\r\n\r\n")

  /** Whether the platform closes the connection within the read timeout. */
  protected def isEnded(connection: RawConnection): Boolean =
    try
      connection.reply()
      false
    catch
      case _: SocketTimeoutException => false
      case _: EOFException | _: SocketException => true

class CrowdSuite extends ConnectionSuite:
  // Nothing ends by a timeout.
  override def settings =
    """
    burst.http.connections { header-timeout = 1h, keep-alive = 1h, stall-timeout = 1h, limit = 400, per-client = 300 }
    burst.http { body-timeout = 1h, body-pace.within = 1h }
    """

  test("any number of unfinished requests keep nobody out"):
    raw: waiting =>
      // It has shown its credentials, and is then older than all other connections.
      assertEquals(waiting.send(get("/api/v1/invokers")).reply().status, 200)
      waiting.send(head("POST", s"$bursts/x", "Content-Length: 2") + "{")
      val half = Vector.fill(1100)(connect().send("GET /ping HTTP/1.1\r\nHost: x\r\nX-Slow: "))
      try
        (1 to 20).foreach: _ =>
          raw(c => assertEquals(c.send(get("/api/v1/invokers")).reply().status, 200))
        assertEquals(send("GET", bursts).status, 200)
        refused(waiting.send("}").reply(), 404)
        assert(half.take(100).forall(isEnded), "the oldest connections are still open")
      finally half.foreach(_.close())

  test("thousands of pipelined requests are answered one after the other"):
    val asked = "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n" * 4000
    raw: c =>
      val sending = Thread { () => c.send(asked); () }
      sending.start()
      (1 to 4000).foreach(_ => assertEquals(c.reply().status, 200))
      sending.join()

  test("a request whose header does not end is cut off"):
    raw: c =>
      c.send("GET /ping HTTP/1.1\r\nHost: x\r\n")
      val lines = (1 to 60).map(i => s"X-$i: ${"x" * 8000}\r\n")
      assert(Try(lines.foreach(c.send)).isFailure || isEnded(c))

  test("a request with credentials is not cut for a new connection, which is refused instead"):
    val asked = head("POST", s"$bursts/x", "Content-Length: 2", "Expect: 100-continue")
    val busy = Vector.fill(300):
      val connection = connect().send(asked)
      connection.interim()
      connection
    try
      raw(c => assert(Try(c.send("GET /ping HTTP/1.1\r\nHost: x\r\n\r\n").reply()).isFailure))
      busy.foreach(_.send("{}"))
      busy.foreach(c => refused(c.reply(), 404))
      raw(c => assertEquals(c.send(get("/api/v1/invokers")).reply().status, 200))
    finally busy.foreach(_.close())

class IdleSuite extends ConnectionSuite:
  // Long enough for connections that are not idle, even on a busy machine.
  override def settings = """
    burst.http.connections { header-timeout = 8s, keep-alive = 8s, stall-timeout = 8s }
    """
  private val longer = 10.seconds

  test("a connection without a request, or with an unfinished one, is closed"):
    def answered() =
      val connection = connect().send(get("/ping"))
      assertEquals(connection.reply().status, 200)
      connection
    // All of them are idle at the same time.
    val idle = Vector(connect(), connect().send("GET /ping HT"), answered(), answered().send("GET"))
    try assertEquals(idle.map(isEnded), idle.map(_ => true))
    finally idle.foreach(_.close())

  test("the response to a HEAD request ends with its head, even if a body would be streamed"):
    val flare = Samples.flare(state = FlareState.Running)
    storage.flares.insert(flare)
    val asked = Vector("result", "logs").map: part =>
      val head = s"HEAD $flares/${flare.id.value}/$part HTTP/1.1\r\nHost: x\r\n"
      connect().send(s"${head}Authorization: ${basic(credentials)}\r\n\r\n")
    try
      asked.foreach(c => assertEquals(c.head().status, 200))
      assertEquals(asked.map(isEnded), asked.map(_ => true))
    finally asked.foreach(_.close())

  test("a connection whose header trickles in is closed all the same"):
    raw: c =>
      c.send("GET /ping HTTP/1.1\r\nX: ")
      val ended = Iterator.continually(c.send("x").hears(50.millis)).take(1000).contains(true)
      assert(ended && isEnded(c), "the header was accepted forever")

  test("a request may take longer than a connection may be idle"):
    raw: c =>
      c.send(head("POST", s"$bursts/x", "Content-Length: 2", "Expect: 100-continue"))
      c.interim()
      assert(!c.hears(longer), "the connection was ended")
      refused(c.send("{}").reply(), 404)

  test("a request that arrived before the last response was sent may take as long"):
    val flare = Samples.flare(state = FlareState.Running)
    storage.flares.insert(flare)
    val text =
      LogText(
        Some(0),
        PackId(0),
        LogStream.Stdout,
        Timestamp.ofMicros(1),
        Vector.fill(100)("x" * 200).mkString("\n")
      )
    storage.flares.addLogs(flare.id, Vector.fill(300)(text))
    raw: c =>
      c.send(get(s"$flares/${flare.id.value}/logs") + head("POST", s"$bursts/x", "Content-Length: 2"))
      c.head()
      c.chunks()
      assert(!c.hears(longer), "the connection was ended")
      refused(c.send("{}").reply(), 404)

  test("a response that nobody reads is abandoned"):
    raw: c =>
      // More than all buffers on the way can hold.
      val asked = get("/api/v1/openapi.yaml")
      val sent = Try((1 to 1_000_000).foreach(_ => c.send(asked)))
      assert(sent.isFailure, "a million requests with unread responses were accepted")

class TlsHandshakeSuite extends ConnectionSuite:
  override def settings = s"""
    burst.http.tls { certificate = "${TlsFiles.certificate}", key = "${TlsFiles.key}" }
    burst.http.connections { header-timeout = 3s, limit = 50 }
    """

  test("an unfinished handshake counts as an unfinished request"):
    // The beginning of a ClientHello.
    val half = Vector.fill(60)(connect().send("\u0016\u0003\u0001\u0002\u0000\u0001\u0000"))
    try
      assert(half.forall(isEnded))
      val client = HttpClient.newBuilder().sslContext(TlsFiles.trusting).build()
      val request = HttpRequest.newBuilder(URI(s"https://127.0.0.1:$port/ping")).build()
      // On a busy machine the first good handshakes may time out as well, while their classes are loaded.
      val asked = Iterator.continually(Try(client.send(request, BodyHandlers.ofString()).statusCode))
      assertEquals(asked.take(20).find(_.isSuccess), Some(Success(200)))
    finally half.foreach(_.close())
