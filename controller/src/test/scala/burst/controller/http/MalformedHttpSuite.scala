package burst.controller.http

import ch.qos.logback.classic.spi.ILoggingEvent
import ch.qos.logback.classic.{Level, Logger}
import ch.qos.logback.core.read.ListAppender
import org.slf4j.LoggerFactory
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** Input that is not HTTP, or HTTP that nobody sends. */
class MalformedHttpSuite extends HttpSuite:
  private def ask(text: String): Reply = Using.resource(RawConnection(port))(_.send(text).reply())

  private def isRefused(reply: Reply)(using munit.Location): Unit =
    assert(reply.status >= 400 && reply.status < 500, reply.toString)
    assert(reply.error.endsWith("."), reply.body)
    assertEquals(Some(reply.string("code")), reply.headers.get("x-request-id"))

  test("input that is not HTTP gets a 4xx in the API's form"):
    Seq(
      "hello, is anybody there?\r\n\r\n",
      "GET\r\nHost: somewhere over there\r\n\r\n",
      "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
      "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "\u0016\u0003\u0001\u0002\u0000\r\n\r\n",
      s"GET /${"x" * 10000} HTTP/1.1\r\nHost: x\r\n\r\n",
      s"GET / HTTP/1.1\r\nHost: x\r\nX: ${"x" * 20000}\r\n\r\n",
      s"GET / HTTP/1.1\r\nHost: x\r\n${(1 to 200).map(i => s"X-$i: y\r\n").mkString}\r\n",
      "BREW / HTTP/1.1\r\nHost: x\r\n\r\n"
    ).zipWithIndex.foreach: (text, i) =>
      try isRefused(ask(text))
      catch case cause: java.io.IOException => fail(s"no answer to number $i", cause)

  test("unknown paths are 404 and wrong methods 405 with those that are allowed"):
    Seq("/nope", "/api", "/api/v2", "/ping/x", "//", "/api/v1/openapi.json").foreach: path =>
      refused(ask(s"GET $path HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(credentials)}\r\n\r\n"), 404)
    refused(send("GET", "/api/v1/nope"), 404, "openapi.yaml")
    refused(send("GET", s"$bursts/a/b"), 404)
    Seq(
      "PATCH" -> s"$bursts/x",
      "POST" -> bursts,
      "PUT" -> s"$flares/${"0" * 32}",
      "POST" -> "/ping"
    ).foreach: (method, path) =>
      val reply = send(method, path, Some("{}"))
      refused(reply, 405, "answers only to")
      assert(reply.headers.contains("allow"))
    Seq("BREW / HTTP/1.1", "QUERY /ping HTTP/1.1", "TRACE /ping HTTP/1.1\r\nContent-Length: 1").foreach:
      text =>
        val reply = ask(s"$text\r\nHost: x\r\n\r\n")
        refused(reply, 405, "answers only to")
        assert(reply.headers.contains("allow"), reply.headers)
    refused(ask("TRACE /api/v1 HTTP/1.1\r\nHost: x\r\n\r\n"), 405, "GET")

  test("malformed credentials are 401, whatever they are"):
    Seq("Basic", "Basic !!!", "Basic " + "x" * 5000, "Bearer abc", "Basic bm9jb2xvbg==", "=").foreach:
      value =>
        refused(ask(s"GET /api/v1/invokers HTTP/1.1\r\nHost: x\r\nAuthorization: $value\r\n\r\n"), 401)

  test("query strings that do not parse are 400, and odd ones are accepted"):
    isRefused(
      ask(s"GET $bursts?limit=%zz HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(credentials)}\r\n\r\n")
    )
    refused(send("GET", s"$bursts?limit=5&limit"), 200)
    assertEquals(send("GET", s"$bursts?&&skip=0").status, 200)
    assertEquals(send("GET", s"/api/v1/namespaces/_/actions?&&x&y=&skip=0").status, 200)

  test("numbers in queries consist of ASCII digits and nothing else"):
    Seq(
      "%D9%A5",
      "%EF%BC%95",
      "%E0%A5%AB",
      "%2B5",
      "-1",
      "5.0",
      "5%00",
      "%205",
      "0x5",
      "",
      "99999999999"
    ).foreach: number =>
      refused(send("GET", s"$bursts?limit=$number"), 400, "'limit'", "whole number")
    refused(send("GET", s"$flares/${"0" * 32}/logs?worker=%D9%A0"), 400, "'worker'")
    refused(send("GET", s"$flares/${"%D9%A0" * 32}"), 400, "hexadecimal")
    assertEquals(send("GET", s"$bursts?limit=05").status, 200)

  test("invalid names are refused, even if they are not text at all"):
    Seq("a%00b", "%00", "%D9%A5", "%EF%BB%BFa", "a%0Ab").foreach: name =>
      refused(send("GET", s"$bursts/$name"), 400, "name")
      refused(send("GET", s"$flares?name=$name"), 400, "name")
    Seq("%ff", "%C0%80", "%ED%A0%80").foreach: bytes =>
      Seq(s"$bursts/$bytes", s"$flares?name=$bytes", s"/$bytes").foreach: path =>
        isRefused(ask(s"GET $path HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(credentials)}\r\n\r\n"))

  test("neither credentials nor inputs reach the log"):
    val appender = ListAppender[ILoggingEvent]()
    appender.start()
    val root = LoggerFactory.getLogger("ROOT").asInstanceOf[Logger]
    val quiet = LoggerFactory.getLogger("burst.controller.http").asInstanceOf[Logger]
    val before = (root.getLevel, quiet.getLevel)
    root.addAppender(appender)
    root.setLevel(Level.TRACE)
    quiet.setLevel(Level.TRACE)
    try
      deploy("logged", ""","parameters":{"p":"hush-parameter"}""")
      service.breaking = Some(RuntimeException("provoked"))
      assertEquals(send("POST", s"$bursts/logged", Some("""{"params":["hush-input"]}""")).status, 500)
      service.breaking = None
      assertEquals(send("POST", s"$bursts/logged", Some("""{"params":["hush-input"]}""")).status, 202)
      send("POST", s"$bursts/logged", Some("""{"hush-input":["""))
      ask("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic hush-header\r\nHost: y\r\n\r\n")
      ask("GET /api/v1/invokers HTTP/1.1\r\nHost: x\r\nAuthorization: Basic !hush-header\r\n\r\n")
    finally
      root.setLevel(before(0))
      quiet.setLevel(before(1))
      root.detachAppender(appender)
    val logged = appender.list.asScala.toVector
      .filterNot(event =>
        event.getLoggerName.startsWith("jdk.") || event.getLoggerName.startsWith("io.swagger")
      )
      .map(event => event.getFormattedMessage + Option(event.getThrowableProxy).fold("")(_.getMessage))
    assert(logged.exists(_.contains("provoked")), "the log has the cause")
    val secrets = Seq("hush-", credentials.split(":")(1), basic(credentials))
    secrets.foreach: secret =>
      assertEquals(logged.filter(_.contains(secret)), Vector.empty)
