package burst.controller.http

import java.io.EOFException
import java.net.SocketException
import scala.concurrent.duration.DurationInt
import scala.util.{Failure, Try}

/** Bodies that are too large, or have to wait. */
class BodyLimitsSuite extends ConnectionSuite:
  override def settings = """
    burst.http.flare-body-limit = 64KiB
    burst.http.deploy-body-limit = 256KiB
    burst.http.deploy-bodies-limit = 330KiB
    burst.http.flare-bodies-limit = 128KiB
    """

  private def chunk(size: Int) = s"${size.toHexString}\r\n${"x" * size}\r\n"

  test("a declared length over the limit is 413 before a byte of the body is sent"):
    raw: c =>
      refused(c.send(head("POST", s"$bursts/x", "Content-Length: 65537")).reply(), 413, "65536 bytes")
    raw: c =>
      refused(c.send(head("PUT", s"$bursts/x", "Content-Length: 262145")).reply(), 413, "262144 bytes")
    raw: c =>
      val monster = s"Content-Length: ${Long.MaxValue}"
      refused(c.send(head("PUT", s"$bursts/x", monster)).reply(), 413)

  test("a client that waits for 100 Continue is refused without receiving it"):
    raw: c =>
      val asked = head("POST", s"$bursts/x", "Content-Length: 65537", "Expect: 100-continue")
      refused(c.send(asked).reply(), 413)

  test("a chunked body is refused as soon as it passes the limit, not when it ends"):
    raw: c =>
      c.send(head("POST", s"$bursts/x", "Transfer-Encoding: chunked"))
      (1 to 5).foreach(_ => c.send(chunk(16000)))
      refused(c.reply(), 413, "65536 bytes")

  /** Repeats an exchange that was reset, as a client that stalls longer than the server waits can be. */
  private def untilAnswered(exchange: RawConnection => Unit)(using munit.Location): Unit =
    val tries = Iterator.continually(Try(raw(exchange))).take(3)
    val last = tries.find:
      case Failure(_: SocketException | _: EOFException) => false
      case _ => true
    last.fold(fail("the connection was reset each time"))(_.get)

  test("a client that keeps sending a refused body still gets its response"):
    untilAnswered: c =>
      c.send(head("POST", s"$bursts/x", "Transfer-Encoding: chunked"))
      (1 to 200).foreach(_ => c.send(chunk(16000)))
      refused(c.send("0\r\n\r\n").reply(), 413)
    val large = 4 << 20
    untilAnswered: c =>
      val declared = head("POST", s"$bursts/x", s"Content-Length: $large")
      refused(c.send(declared + "x" * large).reply(), 413)
    untilAnswered: c =>
      val stranger = s"PUT $bursts/x HTTP/1.1\r\nHost: x\r\nContent-Length: $large\r\n\r\n"
      refused(c.send(stranger + "x" * large).reply(), 401)

  test("a client that never stops sending is cut off"):
    raw: c =>
      c.send(head("POST", s"$bursts/x", "Transfer-Encoding: chunked"))
      val cutOff = Try((1 to 200).foreach(_ => c.send(chunk(1 << 20)))) // 200 MB
      assert(cutOff.isFailure, "the server took 200 MB of a body of at most 64 KiB")

  test("a chunked body within the limit is accepted"):
    raw: c =>
      c.send(head("POST", s"$bursts/ghost", "Transfer-Encoding: chunked"))
      refused(c.send("c\r\n{\"size\" : 1}\r\n0\r\n\r\n").reply(), 404, "'ghost'")

  test("deploys that do not fit in memory together wait for each other"):
    val whole = head("PUT", s"$bursts/x", "Content-Length: 200000") + "x" * 200000
    raw: first =>
      // The interim response shows that the server has begun to read the body.
      first.send(head("PUT", s"$bursts/x", "Content-Length: 200000", "Expect: 100-continue"))
      first.interim()
      first.send("x" * 100000)
      raw: second =>
        second.send(whole)
        refused(first.send("x" * 100000).reply(), 400, "not valid JSON")
        refused(second.reply(), 400, "not valid JSON")

  test("small bodies of flares share one memory budget"):
    val body = """{"size":1,"params":"""" + "x" * 60000
    def asked(more: String*) = head("POST", s"$bursts/ghost", s"Content-Length: ${body.length + 2}" +: more*)
    raw: first =>
      first.send(asked("Expect: 100-continue"))
      first.interim()
      first.send(body)
      raw: second =>
        second.send(asked() + body + "\"}")
        refused(first.send("\"}").reply(), 404, "'ghost'")
        refused(second.reply(), 404, "'ghost'")

  test("inputs may not grow beyond the limit by the parameters under them"):
    deploy("padded", s""","parameters":{"pad":"${"x" * 1000}"}""")
    def post(body: String) = send("POST", s"$bursts/padded", Some(body))
    assertEquals(post(s"""{"params":[${Vector.fill(60)("{}").mkString(",")}]}""").status, 202)
    refused(post(s"""{"params":[${Vector.fill(70)("{}").mkString(",")}]}"""), 413, "65536 bytes")
    assertEquals(post(s"""{"params":[${Vector.fill(70)("""{"pad":1}""").mkString(",")}]}""").status, 202)

  test("a body that breaks off, or breaks its encoding, does no harm"):
    raw(_.send(head("POST", s"$bursts/x", "Content-Length: 100") + "{"))
    raw(_.send(head("POST", s"$bursts/x", "Transfer-Encoding: chunked") + "5\r\nab"))
    raw: c =>
      c.send(head("POST", s"$bursts/x", "Transfer-Encoding: chunked") + "zz\r\n")
      val reply = c.reply()
      assert(reply.status >= 400 && reply.status < 500, reply)
    assertEquals(send("GET", "/ping").status, 200)

/** Bodies that never arrive. */
class LateBodySuite extends ConnectionSuite:
  override def settings = "burst.http.body-timeout = 3s"

  test("a body that does not arrive in time is 408"):
    raw: c =>
      c.send(head("POST", s"$bursts/x", "Content-Length: 100") + "{")
      refused(c.reply(), 408, "did not arrive in time")

class SlowBodySuite extends ConnectionSuite:
  override def settings = """
    burst.http.body-timeout = 1h
    burst.http.body-pace { bytes = 1KiB, within = 1s }
    """

  private def dripping(c: RawConnection): Reply =
    val answered = Iterator.continually(c.send("x").hears(20.millis)).take(3000).contains(true)
    assert(answered, "the body was accepted for a minute")
    c.reply()

  test("a body that trickles in is abandoned, even before its sender is known"):
    raw: c =>
      c.send(head("PUT", s"$bursts/x", "Content-Length: 200000"))
      refused(dripping(c), 408, "did not arrive in time")
    raw: c =>
      c.send(s"PUT $bursts/x HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n")
      refused(dripping(c), 401)
