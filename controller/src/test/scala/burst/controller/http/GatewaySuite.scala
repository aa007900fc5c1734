package burst.controller.http

import burst.controller.gateway.{Gateway, GatewayApis, Tenant}
import burst.controller.store.{Storage, StoreSettings}
import burst.controller.limits.PlatformLimits
import com.typesafe.config.ConfigFactory
import io.circe.Json
import java.nio.file.Files
import org.apache.pekko.actor.typed.DispatcherSelector
import org.apache.pekko.http.scaladsl.server.Route

/** The API gateway with a store of its own, called as wsk and npm's openwhisk call it. */
abstract class GatewayFixture extends WebSuite:
  private lazy val directory = Files.createTempDirectory("burst-gateway")
  private lazy val storage: Storage =
    val own = ConfigFactory.parseString(s"""burst.store.directory = "$directory"""").withFallback(config)
    Storage.open(StoreSettings.from(own), PlatformLimits.from(own).namespace)

  override protected def served: Route =
    val threads = system.dispatchers.lookup(DispatcherSelector.fromConfig(HttpSettings.WebDispatcher))
    val bodies = BodyIntake(body, ApiManagementRoutes.Bodies, FairExecutor(threads), blocking)
    val management = ApiManagementRoutes(
      GatewayApis(storage.apis),
      authentication,
      RequestLimits(RateLimiter()),
      Deploys(bodies),
      bodies,
      body,
      http.web,
      blocking
    )
    WebRoutes(
      management,
      WebActionsRoutes(call),
      GatewayRoutes(Gateway(storage.apis), call, http.web, blocking)
    ).route

  override def afterAll(): Unit =
    super.afterAll()
    storage.close()

  protected val management = "/api/v1/web/whisk.system/apimgmt"
  protected val jsonType = "Content-Type: application/json"

  protected def operation(
      base: String,
      path: String,
      verb: String,
      action: String,
      more: String = ""
  ): String =
    s"""{"apidoc":{"namespace":"_","gatewayBasePath":"$base","gatewayPath":"$path","gatewayMethod":"$verb",
        "id":"API:_:$base","action":{"name":"$action","namespace":"_","backendMethod":"$verb",
        "backendUrl":"https://h/api/v1/web/_/default/$action.http","authkey":"u:k"$more}}}"""

  protected def create(body: String, query: String = "?responsetype=http")(using munit.Location): Reply =
    ask("POST", s"$management/createApi.http$query", Seq(known, jsonType), body)

  protected def made(body: String, query: String = "?responsetype=http")(using munit.Location): Reply =
    val reply = create(body, query)
    assertEquals(reply.status, 200, reply.body)
    reply

  /** The address of an API, without the host. */
  protected def address(reply: Reply): String =
    reply.string("gwApiUrl").stripPrefix(s"http://127.0.0.1:$port")

class GatewaySuite extends GatewayFixture:
  override def beforeAll(): Unit =
    exported("hello")
    exported("secret", """{"require-whisk-auth":"word"}""")
    exported("own", """{"web-custom-options":true}""")
    exported("raw", """{"raw-http":true}""")

  test("the address that is returned works"):
    val reply = made(operation("/hello", "/world", "GET", "hello"), "?responsetype=json")
    assert(reply.string("gwApiUrl").startsWith(s"http://127.0.0.1:$port/api/"), reply.body)
    assertEquals(reply.json.hcursor.get[Boolean]("gwApiActivated"), Right(true))
    assertEquals(reply.string("tenantId"), Tenant.of("guest"))
    assertEquals(reply.json.hcursor.downField("apidoc").get[String]("basePath"), Right("/hello"))
    val got = ask("GET", s"${address(reply)}/world?name=me")
    assertEquals((got.status, got.string("name"), got.string("__ow_method")), (200, "me", "get"))
    assertEquals(got.headers("access-control-allow-origin"), "*")
    assert(got.headers("content-security-policy").startsWith("sandbox "))

  test("path parameters become arguments, which nothing that is sent can override"):
    val at = address(made(operation("/club", "/books/{isbn}", "POST", "hello"), "?responsetype=json"))
    val reply = ask("POST", s"$at/books/a%2Fb?isbn=2", Seq(jsonType), """{"isbn":"3","x":1}""")
    assertEquals(reply.string("isbn"), "a/b")
    assertEquals(reply.string("__ow_path"), "/club/books/a%2Fb")
    assertEquals(reply.json.hcursor.get[Int]("x"), Right(1))

  test("more operations can be added, by the API's base path or name"):
    val first =
      made(operation("/more", "/a", "GET", "hello").replace("\"id\"", "\"apiName\":\"More\",\"id\""), "")
    made(operation("/more", "/a", "PUT", "hello"), "")
    made(operation("More", "/b", "GET", "hello"), "")
    assertEquals(ask("PUT", s"${address(first)}/a").string("__ow_method"), "put")
    assertEquals(ask("GET", s"${address(first)}/b").status, 200)
    val other = ask("POST", s"${address(first)}/a")
    refused(other, 405, "GET, PUT")
    val unknown = ask("GET", s"${address(first)}/c")
    refused(unknown, 404)
    Seq(other, unknown).foreach: reply =>
      assertEquals(reply.headers.get("access-control-allow-origin"), Some("*"))

  test("an action that requires a secret gets the API's, whatever a client sends"):
    val at = address(made(
      operation("/locked", "/a", "GET", "secret", ""","secureKey":"word""""),
      "?responsetype=json"
    ))
    assertEquals(ask("GET", s"$at/a").status, 200)
    assertEquals(ask("GET", s"$at/a", Seq("X-Require-Whisk-Auth: wrong")).status, 200)
    val open = address(made(operation("/unlocked", "/a", "GET", "secret")))
    refused(ask("GET", s"$open/a"), 401, "X-Require-Whisk-Auth")

  test("pages of any origin are allowed"):
    val at = address(made(operation("/cors", "/a", "GET", "own")))
    val reply = ask("OPTIONS", s"$at/a")
    assertEquals((reply.status, reply.headers("access-control-allow-origin")), (200, "*"))
    val asked = ask("OPTIONS", s"$management/createApi")
    assertEquals((asked.status, asked.headers("access-control-allow-origin")), (200, "*"))

  test("a whole document is an API, and replaces the one before"):
    def document(path: String) = Json.obj("apidoc" -> Json.obj(
      "namespace" -> Json.fromString("_"),
      "swagger" -> json(
        s"""{"swagger":"2.0","basePath":"/doc","info":{"title":"Doc","version":"1"},"paths":{"$path":{"get":
          {"x-openwhisk":{"namespace":"_","package":"default","action":"hello","url":"https://h/hello.json"}}}}}"""
      )
    )).noSpaces
    val at = address(made(document("/one")))
    assertEquals(ask("GET", s"$at/one").status, 200)
    made(document("/two"))
    refused(ask("GET", s"$at/one"), 404)
    assertEquals(ask("GET", s"$at/two").status, 200)

  test("APIs are shown as clients read them, with and without an extension"):
    made(operation("/shown", "/a", "GET", "hello"))
    made(operation("/shown", "/b", "PUT", "hello"))
    def shown(query: String) =
      ask("GET", s"$management/getApi$query", Seq(known)).json.hcursor.downField("apis")
    val value = shown(".http?basepath=%2Fshown&limit=0&skip=0").downN(0).downField("value")
    assertEquals(value.downField("apidoc").downField("paths").keys.map(_.toSet), Some(Set("/a", "/b")))
    assertEquals(
      value.downField(
        "apidoc"
      ).downField("paths").downField("/a").downField("get").downField("x-openwhisk").get[String]("action"),
      Right("hello")
    )
    assert(value.get[String]("gwApiUrl").exists(_.endsWith("/shown")))
    val one =
      shown("?basepath=%2Fshown&relpath=%2Fb&operation=PUT").downN(0).downField("value").downField("apidoc")
    assertEquals(one.downField("paths").keys.map(_.toSet), Some(Set("/b")))
    assertEquals(shown("?basepath=%2Fnobody").focus, Some(Json.arr()))
    assert(shown("").values.exists(_.size >= 1))

  test("an operation, a path and an API can be deleted"):
    val at = address(made(operation("/gone", "/a", "GET", "hello")))
    made(operation("/gone", "/a", "PUT", "hello"))
    def delete(query: String) = ask("DELETE", s"$management/deleteApi.http?force=true&$query", Seq(known))
    assertEquals(delete("basepath=%2Fgone&relpath=%2Fa&operation=get").body, "{}")
    refused(ask("GET", s"$at/a"), 405)
    assertEquals(delete("basepath=%2Fgone&relpath=%2Fa").status, 200)
    refused(ask("PUT", s"$at/a"), 404)
    refused(delete("basepath=%2Fgone"), 404, "/gone")

  test("an API at the root serves the paths that no other API has"):
    val root = address(made(operation("/", "/deep/one", "GET", "hello"), "?responsetype=json"))
    made(operation("/deep", "/two", "GET", "hello"), "?responsetype=json")
    assertEquals(ask("GET", s"$root/deep/one").status, 200)
    assertEquals(ask("GET", s"$root/deep/two").status, 200)

class GatewayRefusalsSuite extends GatewayFixture:
  override def beforeAll(): Unit = exported("hello")

  test("a call that does not describe a valid API is refused and creates nothing"):
    val good = operation("/a", "/b", "GET", "hello")
    def less(field: String) =
      json(good).hcursor.downField("apidoc").downField(field).delete.top.fold("")(_.noSpaces)
    Seq(
      ("", 400, "JSON"),
      ("{", 400, "JSON"),
      ("[]", 400, "object"),
      ("{}", 400, "'apidoc' is missing"),
      ("""{"apidoc":null}""", 400, "'apidoc' is missing"),
      ("""{"apidoc":[]}""", 400, "object"),
      ("""{"apidoc":"{"}""", 400, "valid JSON"),
      ("""{"apidoc":"{\"a\":\"\\ud800\"}"}""", 400, "valid JSON"),
      (less("gatewayBasePath"), 400, "gatewayBasePath"),
      (less("gatewayPath"), 400, "gatewayPath"),
      (less("gatewayMethod"), 400, "gatewayMethod"),
      (less("action"), 400, "action"),
      (operation("/a/", "/b", "GET", "hello"), 400, "base path"),
      (operation("/{a}", "/b", "GET", "hello"), 400, "base path"),
      (operation("no such API", "/b", "GET", "hello"), 404, "no such API"),
      (operation("/a", "b", "GET", "hello"), 400, "no path"),
      (operation("/a", "/{b}c", "GET", "hello"), 400, "no path"),
      (operation("/a", "/../b", "GET", "hello"), 400, "no path"),
      (operation("/a", "/{__ow_user}", "GET", "hello"), 400, "no path"),
      (operation("/a", "/b", "BREW", "hello"), 400, "verbs"),
      (operation("/a", "/b", "GET", "a/b/c"), 400, "names no action"),
      (operation("/a", "/b", "GET", "-"), 400, "names no action"),
      (operation("/a", "/b", "GET", "hello").replace("\"id\"", "\"swagger\":{},\"id\""), 400, "exclude"),
      ("""{"apidoc":{"swagger":"{"}}""", 400, "valid JSON"),
      ("""{"apidoc":{"swagger":{"swagger":"2.0","basePath":"/a","info":{},"paths":{}}}}""", 400, "no paths"),
      (s"""{"apidoc":{"swagger":"${"x" * 600000}"}}""", 413, "524288")
    ).foreach((body, status, word) => refused(create(body), status, word))
    refused(create(good, "?responsetype=exe"), 400, "responsetype")
    assertEquals(ask("GET", s"$management/getApi", Seq(known)).body, """{"apis":[]}""", "nothing was created")

  test("calls without credentials, with other methods or to other paths are refused"):
    refused(ask("POST", s"$management/createApi", Seq(jsonType), "{}"), 401)
    refused(ask("GET", s"$management/getApi.http", Seq(basic(s"$uuid:wrong"))), 401)
    refused(ask("DELETE", s"$management/deleteApi?basepath=/a"), 401)
    refused(ask("GET", s"$management/createApi", Seq(known)), 405, "POST")
    refused(ask("GET", s"$management/deleteApi", Seq(known)), 405, "DELETE")
    refused(ask("GET", s"$management/nothing", Seq(known)), 404)
    refused(ask("GET", s"$management/getApi/more", Seq(known)), 404)
    refused(ask("GET", management, Seq(known)), 404)

  test("invalid queries are refused, and deleting what does not exist is 404"):
    refused(ask("GET", s"$management/getApi?limit=-1", Seq(known)), 400, "limit")
    refused(ask("GET", s"$management/getApi?operation=brew", Seq(known)), 400, "verbs")
    refused(ask("DELETE", s"$management/deleteApi", Seq(known)), 400, "basepath")
    refused(ask("DELETE", s"$management/deleteApi?basepath=%00", Seq(known)), 404)
    refused(ask("DELETE", s"$management/deleteApi?basepath=/no&operation=get", Seq(known)), 404)
    assertEquals(ask("GET", s"$management/getApi?basepath=%00", Seq(known)).status, 200)

  test("addresses that lead nowhere are refused"):
    val at = address(made(operation("/here", "/a", "GET", "hello")))
    val tenant = Tenant.of("guest")
    Seq(
      s"/api/$tenant",
      s"/api/$tenant/",
      s"/api/$tenant/here",
      s"/api/$tenant/nowhere/a",
      s"/api/$tenant/HERE/a",
      s"/api/${tenant.toUpperCase}/here/a",
      s"/api/${"0" * 32}/here/a",
      s"$at/a/",
      s"$at/%61%2F",
      s"$at//a"
    ).foreach(path => refused(ask("GET", path), 404))
    refused(ask("GET", s"$at/a?__ow_user=x"), 400, "__ow_user")
    val gone = address(made(operation("/broken", "/a", "GET", "nobody")))
    refused(ask("GET", s"$gone/a"), 404, "web action")
