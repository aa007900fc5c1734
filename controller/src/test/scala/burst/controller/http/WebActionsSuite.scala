package burst.controller.http

import burst.controller.action.ActivationStatus
import io.circe.Json
import scala.util.Using

/** Web actions as their callers see them. */
class WebActionsSuite extends WebSuite:
  override def settings = "burst.http.web.domain = example.org"

  private val web = "/api/v1/web/guest"
  private val form = "Content-Type: application/x-www-form-urlencoded"
  private val jsonType = "Content-Type: application/json"

  override def beforeAll(): Unit =
    exported("echo")
    exported("pkg/echo")
    exported("raw", """{"raw-http":true}""")
    exported("own", """{"web-custom-options":true}""")
    exported("known", """{"require-whisk-auth":true}""")
    exported("secret", """{"require-whisk-auth":"word"}""")
    exported("secret-own", """{"require-whisk-auth":"word","web-custom-options":true}""")

  test("every verb is passed to the action, which runs as its owner"):
    Seq("GET", "POST", "PUT", "PATCH", "DELETE").foreach: method =>
      val reply = ask(method, s"$web/default/echo.json?a=1")
      assertEquals(reply.status, 200, reply.body)
      assertEquals(reply.string("__ow_method"), method.toLowerCase)
      assertEquals(reply.string("a"), "1")
      assert(reply.headers("x-openwhisk-activation-id").matches("[0-9a-f]{32}"))
      assertEquals(invocations.last.get.map(_.caller.namespace), Some("guest"))
      assertEquals(invocations.last.get.map(_.origin.transaction), Some(reply.headers("x-request-id")))

  test("HEAD reaches the action as HEAD, and its response has no body"):
    assertEquals(ask("HEAD", s"$web/default/echo.json").status, 200)
    assertEquals(told("__ow_method"), Some(Json.fromString("head")))

  test("an action in a package gets the rest of the path"):
    assertEquals(ask("GET", s"$web/pkg/echo.json/a/b%2Fc").string("__ow_path"), "/a/b%2Fc")
    assertEquals(ask("GET", s"$web/pkg/echo.json").string("__ow_path"), "")

  test("JSON bodies and forms are merged into the arguments, and other bodies are passed whole"):
    def post(contentType: String, body: String) =
      ask("POST", s"$web/default/echo.json?a=1&b=1", Seq(contentType), body)
    assertEquals(post(jsonType, """{"a":2}""").json.hcursor.get[Int]("a"), Right(2))
    assertEquals(post(jsonType, """{"a":2}""").string("b"), "1")
    assertEquals(post(form, "a=x+y").string("a"), "x y")
    assertEquals(post(jsonType, "[1,2]").json.hcursor.get[Vector[Int]]("__ow_body"), Right(Vector(1, 2)))
    assertEquals(post("Content-Type: text/plain", "hello").string("__ow_body"), "hello")
    assertEquals(post("Content-Type: image/png", "hi").string("__ow_body"), "aGk=")
    assertEquals(
      post(
        "Content-Type: image/png",
        "hi"
      ).json.hcursor.downField("__ow_headers").get[String]("content-type"),
      Right("image/png")
    )
    assertEquals(ask("POST", s"$web/default/echo.json", Seq(jsonType)).status, 200)

  test("a raw action gets query and body as they arrived"):
    def post(contentType: String, body: String) =
      ask("POST", s"$web/default/raw.json?a=1&a=%32", Seq(contentType), body)
    assertEquals(post(jsonType, "{not").string("__ow_body"), "e25vdA==")
    assertEquals(post(form, "a=1").string("__ow_body"), "a=1")
    assertEquals(post(form, "a=1").string("__ow_query"), "a=1&a=%32")
    assertEquals(ask("GET", s"$web/default/raw.json").string("__ow_body"), "")

  test("headers are passed in lower case, and none are added"):
    ask("GET", s"$web/default/echo", Seq("X-MiXed: One", "x-mixed: two", "Accept: text/html"))
    val headers = told("__ow_headers").flatMap(_.asObject).getOrElse(fail("no headers"))
    assertEquals(headers("x-mixed").flatMap(_.asString), Some("One, two"))
    assertEquals(headers.keys.toSet, Set("host", "x-mixed", "accept"))

  test("the response is the one that the action returns"):
    invocations.returning(
      json("""{"statusCode":418,"headers":{"X-Tea":["a","b"],"Content-Type":"text/plain"},"body":"short"}""")
    )
    val reply = ask("GET", s"$web/default/echo")
    assertEquals((reply.status, reply.body), (418, "short"))
    assert(reply.headers("content-type").startsWith("text/plain"))
    assertEquals(reply.headers("access-control-allow-origin"), "*")
    invocations.returning(json("""{"statusCode":503,"body":"mine"}"""))
    assertEquals(ask("GET", s"$web/default/echo").status, 503)
    invocations.returning(json("{}"))
    assertEquals(ask("GET", s"$web/default/echo").status, 204)

  test("an error that an action returns is its response"):
    val error = json("""{"error":{"statusCode":404,"body":"gone"}}""")
    invocations.returning(error, ActivationStatus.ApplicationError)
    val reply = ask("GET", s"$web/default/echo")
    assertEquals((reply.status, reply.body), (404, "gone"))
    invocations.returning(json("""{"error":"words"}"""), ActivationStatus.ApplicationError)
    assertEquals(ask("GET", s"$web/default/echo.text").body, "words")
    refused(ask("GET", s"$web/default/echo"), 400, "statusCode")

  test("pages of any origin are allowed without running the action"):
    val reply = ask("OPTIONS", s"$web/default/known", Seq("Access-Control-Request-Headers: X-One, X-Two"))
    assertEquals(reply.status, 200)
    assertEquals(reply.headers("access-control-allow-origin"), "*")
    assertEquals(
      reply.headers("access-control-allow-methods"),
      "OPTIONS, GET, DELETE, POST, PUT, HEAD, PATCH"
    )
    assertEquals(reply.headers("access-control-allow-headers"), "X-One, X-Two")
    assertEquals(invocations.last.get, None)

  test("a page's script can read why it is refused"):
    Seq("GET" -> "default/nowhere", "TRACE" -> "default/known", "GET" -> "default").foreach: (method, path) =>
      val reply = ask(method, s"$web/$path")
      assert(reply.status >= 400, reply)
      assertEquals(reply.headers.get("access-control-allow-origin"), Some("*"), s"$method $path")

  test("an action with custom options answers OPTIONS itself, even for unknown callers"):
    invocations.returning(
      json("""{"headers":{"Access-Control-Allow-Origin":"https://a.example"},"body":"x"}""")
    )
    val reply = ask("OPTIONS", s"$web/default/secret-own")
    assertEquals(reply.status, 200)
    assertEquals(reply.headers("access-control-allow-origin"), "https://a.example")
    assert(!reply.headers.contains("access-control-allow-methods"))
    refused(ask("GET", s"$web/default/secret-own"), 401)
    invocations.returning(json("""{"body":"x"}"""))
    assert(!ask("GET", s"$web/default/own").headers.contains("access-control-allow-origin"))

  test("an action's own header for other origins is not duplicated"):
    invocations.returning(
      json("""{"headers":{"access-control-allow-origin":"https://a.example"},"body":"x"}""")
    )
    assertEquals(ask("GET", s"$web/default/echo").headers("access-control-allow-origin"), "https://a.example")

  test("pages at the API's host are given an origin of their own, whatever the action returns"):
    val sandbox =
      "sandbox allow-scripts allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-downloads"
    def policies(host: String) = Using.resource(RawConnection(port)): connection =>
      connection.send(s"GET $web/default/echo HTTP/1.1\r\nHost: $host\r\nConnection: close\r\n\r\n")
      connection.rest().linesIterator.collect { case s"Content-Security-Policy: $value" => value }.toSeq
    invocations.returning(json("""{"body":"<p>"}"""))
    assertEquals(policies("api.example.com"), Seq(sandbox))
    assertEquals(policies("guest.example.org"), Seq.empty)
    Seq("sandbox allow-same-origin", "default-src *").foreach: own =>
      invocations.returning(json(s"""{"body":"<p>","headers":{"Content-Security-Policy":"$own"}}"""))
      assertEquals(policies("api.example.com").toSet, Set(own, sandbox))
    invocations.returning(json("""{"body":"<p>","headers":{"Connection":"Content-Security-Policy"}}"""))
    assertEquals(policies("api.example.com"), Seq(sandbox))

  test("an action learns who a caller with credentials is, even if it does not require any"):
    assertEquals(ask("GET", s"$web/default/known.json", Seq(known)).string("__ow_user"), "guest")
    assertEquals(ask("GET", s"$web/default/echo.json", Seq(known)).string("__ow_user"), "guest")
    assert(!ask("GET", s"$web/default/echo.json").json.hcursor.keys.exists(_.exists(_ == "__ow_user")))

  test("credentials that are not the platform's are passed to the action"):
    val reply = ask("GET", s"$web/default/echo.json", Seq(basic("me:password")))
    assertEquals(
      reply.json.hcursor.downField("__ow_headers").get[String]("authorization"),
      Right(basic("me:password").drop(15))
    )
    assert(!reply.json.hcursor.keys.exists(_.exists(_ == "__ow_user")))

  test("a caller with the secret may call its action"):
    assertEquals(ask("GET", s"$web/default/secret.json", Seq("x-require-WHISK-auth: word")).status, 200)

  test("an action that is not ready in time keeps running"):
    invocations.running = true
    val reply = ask("GET", s"$web/default/echo")
    refused(reply, 202, "not ready")
    assert(reply.headers.contains("x-openwhisk-activation-id"))

  test("a response of a type that the client accepts is returned"):
    invocations.returning(json("""{"body":"<p>"}"""))
    Seq("text/html", "*/*", "text/*;q=0.1", "image/png, text/html").foreach: accept =>
      assertEquals(ask("GET", s"$web/default/echo", Seq(s"Accept: $accept")).status, 200, accept)
    invocations.returning(json("{}"))
    assertEquals(
      ask("GET", s"$web/default/echo", Seq("Accept: image/png")).status,
      204,
      "there is no body to accept"
    )
