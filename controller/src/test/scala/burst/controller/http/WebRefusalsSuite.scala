package burst.controller.http

import burst.controller.action.{ActivationStatus, InvocationRefusal}
import burst.controller.limits.MinuteUsed
import burst.controller.scheduler.Refusal
import burst.controller.web.WebHeaders
import org.apache.pekko.http.scaladsl.model.StatusCodes
import scala.concurrent.duration.DurationInt

/** Requests to web actions that are refused, each with its reason. */
class WebRefusalsSuite extends WebSuite:
  private val web = "/api/v1/web/guest"
  private val jsonType = "Content-Type: application/json"
  private val form = "Content-Type: application/x-www-form-urlencoded"

  override def beforeAll(): Unit =
    exported("echo")
    exported("raw", """{"raw-http":true}""")
    exported("closed", """{"final":true}""", """{"key":"k","none":null}""")
    exported("known", """{"require-whisk-auth":true}""")
    exported("secret", """{"require-whisk-auth":"word"}""")
    exported("number", """{"require-whisk-auth":4711}""")
    exported("strange", """{"require-whisk-auth":["word"]}""")
    actions.add("private", fields("{}"), fields("{}"))
    actions.add("unexported", fields("""{"web-export":false}"""), fields("{}"))
    actions.add("text", fields("""{"web-export":"true"}"""), fields("{}"))

  /** Checks that each request is refused with a status and a word of the reason, and that nothing was run. */
  private def all(requests: (() => Reply, Int, String)*)(using munit.Location): Unit =
    requests.foreach((ask, status, word) => refused(ask(), status, word))
    assertEquals(invocations.last.get, None, "nothing was run")

  private def get(path: String, headers: String*): () => Reply = () => ask("GET", path, headers)
  private def post(path: String, contentType: String, body: String): () => Reply =
    () => ask("POST", path, Seq(contentType), body)

  test("missing, private and misnamed actions are 404"):
    all(
      (get("/api/v1/web"), 404, "no such web action"),
      (get("/api/v1/web/"), 404, "no such web action"),
      (get(s"$web"), 404, "no such web action"),
      (get(s"$web/default"), 404, "no such web action"),
      (get(s"$web/default/"), 404, "no such web action"),
      (get(s"$web/default/nobody"), 404, "no such web action"),
      (get(s"$web/nowhere/echo"), 404, "no such web action"),
      (get("/api/v1/web/nobody/default/echo"), 404, "no such web action"),
      (get("/api/v1/web/gone/default/echo"), 404, "no such web action"),
      (get("/api/v1/web/_/default/echo", known), 404, "no such web action"),
      (get(s"$web/default/private"), 404, "no such web action"),
      (get(s"$web/default/private", known), 404, "no such web action"),
      (get(s"$web/default/unexported"), 404, "no such web action"),
      (get(s"$web/default/text"), 404, "no such web action"),
      (get(s"$web/default/ECHO"), 404, "no such web action"),
      (get(s"$web/default/echo.xml"), 404, "no such web action"),
      (get(s"$web/default/.json"), 404, "no such web action"),
      (get(s"$web/default%2Fecho"), 404, "no such web action"),
      (get(s"$web/default/%2e%2e%2fdefault%2fecho"), 404, "no such web action"),
      (get(s"$web//default/echo"), 404, "no such web action"),
      (get(s"$web/default/echo%00"), 404, "no such web action"),
      (get(s"$web/default/${"a" * 300}"), 404, "no such web action")
    )

  test("verbs other than the seven known ones are 405"):
    val reply = ask("TRACE", s"$web/default/echo")
    assertEquals(reply.status, 405, reply.body)
    refused(ask("BREW", s"$web/default/echo"), 405)

  test("names reserved for the platform are refused, in every place and case"):
    all(
      (get(s"$web/default/echo?__ow_method=put"), 400, "__ow_method"),
      (get(s"$web/default/echo?__ow_user=admin"), 400, "__ow_user"),
      (get(s"$web/default/echo?__OW_USER=admin"), 400, "__OW_USER"),
      (get(s"$web/default/echo?%5f%5fow_user=admin"), 400, "__ow_user"),
      (get(s"$web/default/echo?a=1&__ow_new=x"), 400, "__ow_new"),
      (post(s"$web/default/echo", jsonType, """{"__ow_headers":{}}"""), 400, "__ow_headers"),
      (post(s"$web/default/echo", jsonType, """{"\u005f_ow_user":"admin"}"""), 400, "__ow_user"),
      (post(s"$web/default/echo", jsonType, """{"__Ow_Body":null}"""), 400, "__Ow_Body"),
      (post(s"$web/default/echo", form, "__ow_path=%2F"), 400, "__ow_path"),
      (post(s"$web/default/echo", form, "%5F_ow_query=x"), 400, "__ow_query"),
      (
        post(s"$web/default/echo", "Content-Type: application/problem+json", """{"__ow_user":1}"""),
        400,
        "__ow_user"
      )
    )

  test("final parameters of an action are refused"):
    all(
      (get(s"$web/default/closed?key=mine"), 400, "'key'"),
      (post(s"$web/default/closed", jsonType, """{"key":null}"""), 400, "'key'"),
      (post(s"$web/default/closed", form, "key="), 400, "'key'")
    )
    assertEquals(ask("GET", s"$web/default/closed.json?none=1").status, 200, "the parameter has no value")

  test("bodies that cannot be read are refused"):
    all(
      (post(s"$web/default/echo", jsonType, "{"), 400, "not valid JSON"),
      (post(s"$web/default/echo", jsonType, """{"a":1,"a":2}"""), 400, "twice"),
      (post(s"$web/default/echo", jsonType, "[" * 300 + "]" * 300), 400, "deeper"),
      (post(s"$web/default/echo", jsonType, "1" * 2000), 400, "number"),
      (post(s"$web/default/echo", jsonType, "\"\u00ff\u00fe\""), 400, "UTF-8"),
      (post(s"$web/default/echo", jsonType, "[" + "1," * 100_001 + "1]"), 400, "values"),
      (post(s"$web/default/echo", jsonType, """{"a":"\ud800"}"""), 400, "surrogate"),
      (post(s"$web/default/echo", form, "a=%g"), 400, "form"),
      (post(s"$web/default/echo", form, "a&" * 2000), 400, "fields"),
      (
        () => ask("POST", s"$web/default/echo", Seq(jsonType, "Content-Encoding: gzip"), "{}"),
        415,
        "Content-Encoding"
      ),
      (
        () => ask("POST", s"$web/default/raw", Seq(jsonType, "Content-Encoding: br"), "{}"),
        415,
        "Content-Encoding"
      )
    )

  test("bodies that are too large are 413, whatever their type"):
    val large = "x" * (1024 * 1024 + 1)
    all(
      (post(s"$web/default/echo", "Content-Type: text/plain", large), 413, "1048576"),
      (post(s"$web/default/raw", "Content-Type: image/png", large), 413, "1048576")
    )

  test("queries that cannot be read are 400"):
    Seq(s"$web/default/echo?a=%", s"$web/default/echo?%zz=1").foreach: path =>
      assertEquals(ask("GET", path).status, 400)
    all((get(s"$web/default/echo?${"&" * 1001}"), 400, "fields"))

  test("callers without the action's credentials or secret are refused"):
    all(
      (get(s"$web/default/known"), 401, "credentials"),
      (get(s"$web/default/known", basic(s"$uuid:wrong")), 401, "credentials"),
      (get(s"$web/default/known", basic("no:one")), 401, "credentials"),
      (get(s"$web/default/known", "Authorization: Bearer x"), 401, "credentials"),
      (get(s"$web/default/known", "X-Require-Whisk-Auth: true"), 401, "credentials"),
      (get(s"$web/default/secret"), 401, "X-Require-Whisk-Auth"),
      (get(s"$web/default/secret", known), 401, "X-Require-Whisk-Auth"),
      (get(s"$web/default/secret", "X-Require-Whisk-Auth: Word"), 401, "X-Require-Whisk-Auth"),
      (
        get(s"$web/default/secret", "X-Require-Whisk-Auth: word", "x-require-whisk-auth: word"),
        401,
        "one header"
      ),
      (get(s"$web/default/secret?X-Require-Whisk-Auth=word"), 401, "X-Require-Whisk-Auth"),
      (get(s"$web/default/number", "X-Require-Whisk-Auth: 4712"), 401, "X-Require-Whisk-Auth"),
      (get(s"$web/default/strange", "X-Require-Whisk-Auth: word"), 401, "X-Require-Whisk-Auth")
    )
    assertEquals(ask("GET", s"$web/default/known").headers("www-authenticate").take(5), "Basic")

  test("an action is not even run if its response type is known to be unacceptable"):
    all(
      (get(s"$web/default/echo.json", "Accept: text/html"), 406, "application/json"),
      (get(s"$web/default/echo.html", "Accept: application/json"), 406, "text/html"),
      (get(s"$web/default/echo.svg", "Accept: image/png"), 406, "image/svg+xml"),
      (get(s"$web/default/echo.text", "Accept: text/plain;q=0, */*;q=0"), 406, "text/plain")
    )
    invocations.returning(json("""{"body":"<p>"}"""))
    refused(ask("GET", s"$web/default/echo", Seq("Accept: application/json")), 406, "text/html")

  test("results that are not valid responses are refused"):
    Seq(
      ("http", "[1]", "statusCode"),
      ("http", """{"statusCode":99}""", "200 to 599"),
      ("http", """{"statusCode":"teapot"}""", "200 to 599"),
      ("http", """{"headers":{"X":"a\r\nSet-Cookie: admin=1"}}""", "header"),
      ("http", """{"headers":{"X":"\u560a\u560dSet-Cookie: admin=1"}}""", "header"),
      ("http", """{"headers":{"X\r\nY":"a"}}""", "header"),
      ("http", """{"headers":"X: a"}""", "header"),
      ("http", s"""{"headers":{"X":"${"a" * WebHeaders.MostCharacters}"}}""", "headers"),
      ("http", """{"body":"x","headers":{"content-type":"no\r\ntype"}}""", "header"),
      ("http", """{"body":"x","headers":{"content-type":"no type"}}""", "content type"),
      ("http", """{"body":"*","headers":{"content-type":"image/png"}}""", "base64"),
      ("http", """{"body":{},"headers":{"content-type":"text/plain"}}""", "content type"),
      ("json", "\"text\"", "object"),
      ("html", """{"html":1}""", "html"),
      ("svg", "{}", "svg")
    ).foreach: (extension, result, word) =>
      invocations.returning(json(result))
      val reply = ask("GET", s"$web/default/echo.$extension")
      refused(reply, 400, word)
      assert(reply.headers.contains("x-openwhisk-activation-id"), "its owner can find the activation")
      assert(!reply.headers.contains("set-cookie"))
    invocations.returning(json("{}"))
    refused(ask("GET", s"$web/default/echo.text"), 404, "field")

  test("no header of an action changes how the response is framed"):
    invocations.returning(
      json(
        """{"body":"hello","headers":{"Content-Length":"1","Transfer-Encoding":"chunked","Connection":"close"}}"""
      )
    )
    val reply = ask("GET", s"$web/default/echo")
    assertEquals(reply.body, "hello")
    assert(!reply.headers.contains("transfer-encoding"))

  test("an action that fails is 400 and reveals nothing"):
    Seq(ActivationStatus.DeveloperError, ActivationStatus.InternalError).foreach: status =>
      invocations.returning(json("""{"error":"a secret of the inside"}"""), status)
      val reply = ask("GET", s"$web/default/echo.json")
      refused(reply, 400, "failed")
      assert(!reply.body.contains("secret"))

  test("the platform's own refusals are passed on to the caller"):
    Seq(
      (InvocationRefusal.RateLimited(MinuteUsed(60, 60, 7.seconds)), 429, "60"),
      (InvocationRefusal.PayloadTooLarge(5), 413, "5"),
      (InvocationRefusal.FinalParameter("key"), 400, "key"),
      (InvocationRefusal.Refused(Refusal.QueueFull(3)), 429, "3")
    ).foreach: (refusal, status, word) =>
      invocations.refusal = Some(refusal)
      refused(ask("GET", s"$web/default/echo"), status, word)
    invocations.refusal = Some(InvocationRefusal.Refused(Refusal.NoInvokers))
    assertEquals(
      ask("GET", s"$web/default/echo", Seq.empty).status,
      StatusCodes.ServiceUnavailable.intValue
    )

/** How much strangers may use. */
class WebSharesSuite extends WebSuite:
  override def settings =
    "burst.http.web { requests-per-minute = 20, concurrent-requests = 1, misses-per-minute = 3 }"

  private val web = "/api/v1/web/guest/default"

  test("requests to a namespace's web actions are limited per minute and at the same time"):
    exported("echo")
    val gate = invocations.hold()
    val waiting = RawConnection(port)
    try
      waiting.send(s"GET $web/echo.json HTTP/1.1\r\nHost: x\r\n\r\n")
      while invocations.last.get.isEmpty do Thread.onSpinWait()
      refused(ask("GET", s"$web/echo.json"), 429, "1 requests under way")
      gate.success(())
      assertEquals(waiting.reply().status, 200)
    finally waiting.close()
    val replies = Iterator.continually(ask("GET", s"$web/echo.json")).take(100)
    val over = replies.find(_.status == 429).getOrElse(fail("no limit"))
    refused(over, 429, "20 requests a minute")
    assertEquals(over.headers.get("access-control-allow-origin"), Some("*"))
    assert(over.headers.contains("retry-after"))

  test("a client that guesses is stopped, but actions that were found before stay reachable"):
    exported("there")
    val _ = ask("GET", s"$web/there.json")
    (1 to 3).foreach(n => refused(ask("GET", s"$web/guess$n"), 404))
    val guesses = Iterator.from(4).map(n => ask("GET", s"$web/guess$n")).take(20)
    refused(guesses.find(_.status == 429).getOrElse(fail("no limit")), 429, "not there")
    assert(!ask("GET", s"$web/there.json").error.contains("not there"))
