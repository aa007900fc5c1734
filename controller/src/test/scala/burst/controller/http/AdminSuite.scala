package burst.controller.http

import burst.controller.limits.{NamespaceLimits, PlatformLimits}
import burst.controller.scheduler.{CancelOutcome, CancelledBy}
import burst.controller.store.{Blocking, NamespaceStore, StoreException}
import burst.node.SetupException
import burst.protocol.InvokerId
import ch.qos.logback.classic.spi.ILoggingEvent
import ch.qos.logback.core.read.ListAppender
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpMethod, HttpMethods, HttpRequest}
import org.apache.pekko.http.scaladsl.server.Route
import org.slf4j.LoggerFactory
import scala.concurrent.{Await, ExecutionContext}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*

class AdminSuite extends HttpSuite:
  private val administrator = caller(admin)

  private def create(name: String, body: String = "{}", query: String = "")(using munit.Location): Reply =
    send("PUT", s"$admin/$name$query", Some(body), administrator)

  test("a namespace's key opens it until it is revoked, and a new key after that"):
    val created = create("team")
    assertEquals(created.status, 200, created.body)
    val auth = Some(created.string("auth"))
    assertEquals(send("GET", bursts, auth = auth).status, 200)
    refused(create("team"), 409, "overwrite=true")
    assertEquals(send("DELETE", s"$admin/team", auth = administrator).status, 200)
    assertEquals(service.ended.get, Some("team"), "its flares are ended")
    refused(send("GET", bursts, auth = auth), 401)
    val shown = send("GET", s"$admin/team", auth = administrator)
    assert(shown.json.hcursor.get[Long]("revoked").isRight, shown.body)
    assert(!shown.body.contains("auth"), shown.body)
    val again = Some(create("team", query = "?overwrite=true").string("auth"))
    refused(send("GET", bursts, auth = auth), 401)
    assertEquals(send("GET", bursts, auth = again).status, 200)

  test("the administrator lists and ends flares and groups of any namespace"):
    val auth = Some(create("busy").string("auth"))
    assertEquals(send("PUT", s"$bursts/work", deployment(), auth).status, 200)
    val flare = send("POST", s"$bursts/work", Some("""{"size":1}"""), auth).string("flareId")
    val group = send("POST", groups, Some("""{"definition":"work","size":1}"""), auth).string("groupId")
    def listed(path: String, id: String) =
      send("GET", s"$administration/$path", auth = administrator).json.asArray.fold(Vector.empty[String])(
        _.flatMap(_.hcursor.get[String](id).toOption)
      )
    assertEquals(listed("flares?namespace=busy", "flareId"), Vector(flare))
    assertEquals(listed("flares?namespace=busy&state=failed", "flareId"), Vector.empty)
    assertEquals(listed("groups?namespace=busy", "groupId"), Vector(group))
    assert(listed("flares", "flareId").contains(flare))
    assertEquals(send("DELETE", s"$administration/flares/$flare", auth = administrator).status, 202)
    assertEquals(service.cancelled.get.map(_(1)), Some(CancelledBy.Administrator))
    assertEquals(send("DELETE", s"$administration/groups/$group", auth = administrator).status, 202)
    refused(send("DELETE", s"$administration/flares/$group", auth = administrator), 404)
    refused(send("DELETE", s"$administration/groups/${"0" * 32}", auth = administrator), 404)
    refused(send("DELETE", s"$administration/flares/x", auth = administrator), 400)
    refused(send("GET", s"$administration/flares?state=late", auth = administrator), 400, "'state'")
    service.cancelling = CancelOutcome.AlreadyEnded
    refused(send("DELETE", s"$administration/flares/$flare", auth = administrator), 409)
    for (method, path) <- Seq("GET" -> "flares", "GET" -> "groups", "DELETE" -> s"flares/$flare") do
      refused(send(method, s"$administration/$path", auth = auth), 401, "admin:key")

  test("a key that was stored is returned even if the database fails right after"):
    val inner = storage.namespaces
    val failing = new NamespaceStore:
      export inner.{create as _, find as _, limits as _, *}
      def find(namespace: String) = throw StoreException("reading a namespace", null, "it failed")
    val body = RequestBody(BodyTimes(10.seconds, 0, 1.hour), JsonLimits(10, 10, 10))
    given ExecutionContext = system.executionContext
    val route = NamespacesRoutes(failing, service, body, Blocking(system.executionContext)).route
    val json = HttpEntity(ContentTypes.`application/json`, "{}")
    val serve = Route.toFunction(route)
    def shown(method: HttpMethod, path: String): String =
      val answer = serve(HttpRequest(method, s"/namespaces/$path", entity = json))
      val text = answer.flatMap(_.entity.toStrict(10.seconds)).map(_.data.utf8String)
      io.circe.parser.parse(Await.result(text, 20.seconds)).flatMap(_.hcursor.get[String]("auth")).fold(
        throw _,
        identity
      )
    for
      (method, path) <- Seq(
        HttpMethods.PUT -> "issued-once",
        HttpMethods.POST -> "issued-once/key",
        HttpMethods.PUT -> "issued-once?overwrite=true"
      )
    do assertEquals(send("GET", bursts, auth = Some(shown(method, path))).status, 200)

  test("a namespace gets a new key and keeps its limits, or new limits and keeps its key"):
    val first = Some(create("moved", """{"limits":{"burstSize":3}}""").string("auth"))
    val renewed = send("POST", s"$admin/moved/key", auth = administrator)
    assertEquals(renewed.status, 200, renewed.body)
    val second = Some(renewed.string("auth"))
    refused(send("GET", bursts, auth = first), 401)
    assertEquals(send("GET", bursts, auth = second).status, 200)
    val limited = send("PATCH", s"$admin/moved", Some("""{"limits":{"memory":512}}"""), administrator)
    assert(!limited.body.contains("auth"), limited.body)
    val limits = limited.json.hcursor.downField("limits")
    assertEquals((limits.get[Int]("burstSize"), limits.get[Int]("memory")), (Right(3), Right(512)))
    assertEquals(send("GET", bursts, auth = second).status, 200)
    refused(
      send("PATCH", s"$admin/moved", Some("""{"limits":{"memory":-1}}"""), administrator),
      400,
      "memory"
    )
    refused(send("PATCH", s"$admin/nobody", Some("{}"), administrator), 404, "nobody")
    refused(send("POST", s"$admin/nobody/key", auth = administrator), 404, "nobody")
    refused(send("POST", s"$admin/whisk.system/key", auth = administrator), 400, "'whisk.system'")
    refused(send("POST", s"$admin/moved/key", auth = second), 401, "admin:key")

  test("the administrator's requests are audited without secrets, and strangers' attempts are not"):
    val appender = ListAppender[ILoggingEvent]()
    val logger = LoggerFactory.getLogger("burst.audit").asInstanceOf[ch.qos.logback.classic.Logger]
    appender.start()
    logger.addAppender(appender)
    logger.setLevel(ch.qos.logback.classic.Level.INFO)
    try
      val auth = create("watched").string("auth")
      refused(send("DELETE", s"$admin/watched", auth = Some(s"admin:${adminKey.reverse}")), 401)
      refused(send("GET", s"$admin/no%0Asuch", auth = administrator), 400)
      service.breaking = Some(java.util.concurrent.TimeoutException())
      assertEquals(send("DELETE", s"$admin/watched", auth = administrator).status, 503)
      service.breaking = None
      val lines = appender.list.asScala.map(_.getFormattedMessage).toVector
      assertEquals(
        lines.map(_.split(" client=").head),
        Vector(
          s"PUT $admin/watched 200",
          s"GET $admin/no%0Asuch 400",
          s"DELETE $admin/watched 503"
        )
      )
      assert(lines.forall(line => line.contains("client=127.0.0.1 id=")), lines)
      assert(!lines.exists(line => line.contains(adminKey) || line.contains(auth)), lines)
    finally
      val _ = logger.detachAppender(appender)

  test("the administrator can drain and resume a machine, and users cannot"):
    val auth = Some(create("driver").string("auth"))
    val machine = service.views.head.status.id
    val path = s"$administration/invokers/${machine.value}/drain"
    refused(send("PUT", path, auth = auth), 401, "admin:key")
    refused(send("DELETE", path, auth = auth), 401, "admin:key")
    val drained = send("PUT", path, auth = administrator)
    assertEquals(drained.json.hcursor.get[Boolean]("drained"), Right(true), drained.body)
    assert(send("GET", "/api/v1/invokers").body.contains("\"state\":\"drained\""))
    assertEquals(storage.drained.all(), Set(machine))
    assertEquals(send("PUT", path, auth = administrator).status, 200, "a second request changes nothing")
    assertEquals(send("GET", path, auth = administrator).body, drained.body)
    refused(send("GET", path, auth = auth), 401, "admin:key")
    val resumed = send("DELETE", path, auth = administrator)
    assertEquals(resumed.json.hcursor.get[Boolean]("drained"), Right(false), resumed.body)
    assertEquals(storage.drained.all(), Set.empty)
    for method <- Seq("PUT", "DELETE") do
      refused(send(method, s"$administration/invokers/nobody/drain", auth = administrator), 404, "'nobody'")
    assertEquals(storage.drained.all(), Set.empty, "nothing is kept about unknown machines")
    refused(send("PUT", s"$administration/invokers/%00/drain", auth = administrator), 404)
    // Drained, and not heard from since.
    storage.drained.add(InvokerId("gone"))
    assertEquals(send("DELETE", s"$administration/invokers/gone/drain", auth = administrator).status, 200)
    assertEquals(storage.drained.all(), Set.empty)

  test("a namespace's own limits apply, and the configured ones for the rest"):
    val reply = create("small", """{"limits":{"burstSize":2,"packageSize":1000,"egress":true}}""")
    val shown = reply.json.hcursor.downField("limits")
    assertEquals(shown.get[Int]("burstSize"), Right(2))
    assertEquals(shown.get[Long]("packageSize"), Right(1000L))
    assertEquals(shown.get[Boolean]("egress"), Right(true))
    val configured = PlatformLimits.from(config).namespace
    assertEquals(
      storage.namespaces.limits("small"),
      Some(configured.copy(burstSize = 2, packageBytes = 1000, egress = true): NamespaceLimits)
    )

  test("a flare may reach the internet only if its namespace was allowed to"):
    def asked(limits: String, name: String) =
      val auth = create(name, limits).json.hcursor.get[String]("auth").toOption
      assertEquals(send("PUT", s"$bursts/x", deployment(), auth).status, 200)
      assertEquals(send("POST", s"$bursts/x", Some("""{"size":1}"""), auth).status, 202)
      service.last.get.map(_.egress)
    assertEquals(asked("{}", "kept"), Some(false))
    assertEquals(asked("""{"limits":{"egress":true}}""", "let"), Some(true))
    refused(create("odd", """{"limits":{"egress":"yes"}}"""), 400, "'limits.egress'", "true or false")

  test("only the administrator can administer, and its key opens no namespace"):
    val wrong = Seq(
      None,
      Some(credentials),
      Some(s"admin:${adminKey.reverse}"),
      Some("admin:"),
      Some(s"Admin:$adminKey"),
      Some(s"$adminKey:admin")
    )
    for
      auth <- wrong
      (method, path) <- Seq("GET" -> admin, "PUT" -> s"$admin/x", "DELETE" -> s"$admin/guest")
    do
      val reply = send(method, path, Option.when(method == "PUT")("{}"), auth)
      refused(reply, 401, "admin:key")
      assert(reply.headers.contains("www-authenticate"))
    refused(send("GET", bursts, auth = administrator), 401)
    assertEquals(storage.namespaces.find("x"), None)

  test("an invalid namespace name or limit is refused and changes nothing"):
    refused(create("_"), 400, "name")
    refused(create("a%00b"), 400, "name")
    refused(create("a%2Fb"), 400, "name")
    refused(create("bad", """{"limit":{}}"""), 400, "'limit'")
    refused(create("bad", """{"limits":{"slots":1}}"""), 400, "'limits.slots'")
    refused(create("bad", """{"limits":{"storeActivations":false}}"""), 400, "'limits.storeActivations'")
    refused(create("bad", """{"limits":{"allowedKinds":["rust"]}}"""), 400, "'limits.allowedKinds'")
    refused(create("bad", """{"limits":{"burstSize":0}}"""), 400, "'limits.burstSize'", "from 1")
    refused(create("bad", """{"limits":{"memory":1.5}}"""), 400, "'limits.memory'")
    refused(create("bad", "[]"), 400)
    refused(create("bad", "{}" + " " * 20000), 413)
    refused(create("bad", query = "?overwrite=maybe"), 400, "'overwrite'")
    refused(send("GET", s"$admin/bad", auth = administrator), 404, "'bad'")
    refused(send("DELETE", s"$admin/bad", auth = administrator), 404)

class AdminOffSuite extends HttpSuite:
  override lazy val adminKey = ""

  test("without a configured key nobody can administer"):
    Seq(Some("admin:"), Some("admin"), Some(credentials), None).foreach: auth =>
      refused(send("GET", admin, auth = auth), 403, "burst.http.admin-key")

class AdminKeySuite extends munit.FunSuite:
  test("a key that could be guessed is refused without repeating it"):
    val failure = intercept[SetupException](AdminKey.from("too-short-a-key"))
    assert(failure.getMessage.startsWith("burst.http.admin-key must have"), failure.getMessage)
    assert(!failure.getMessage.contains("too-short-a-key"), failure.getMessage)
    assertEquals(AdminKey.from(""), None)
    val key = AdminKey.random()
    assert(AdminKey.from(key).exists(own => own.opens(key) && !own.opens(key.tail)))
