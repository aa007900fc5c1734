package burst.controller.http

import burst.controller.placement.Packing
import burst.controller.store.insert
import burst.controller.flare.{FlareState, WorkerState}
import burst.controller.scheduler.{Suspicion, WaitsFor}
import burst.controller.store.Samples
import burst.controller.trigger.RuleStatus
import burst.controller.web.WebExtension
import burst.protocol.{FailureKind, InvokerId, JsonText, LogStream, PackStart, RuntimeInfo, Timestamp}
import io.circe.{Encoder, Json}
import io.circe.syntax.*

class MetaSuite extends HttpSuite:
  test("the platform describes itself to anyone"):
    Seq("/", "/api/v1", "/api/v1/").foreach: path =>
      assertEquals(send("GET", path, auth = None).string("api"), "/api/v1")
    assertEquals(send("GET", "/ping", auth = None).body, "pong")
    assertEquals(send("GET", "/api/v1/openapi.yaml", auth = None).body, ApiDescription.text)

  test("it reports whether it can accept flares, and the state of each part that it needs"):
    val ready = send("GET", "/ready", auth = None)
    assertEquals(ready.status, 200)
    assertEquals(
      ready.body,
      """{"ready":true,"database":"ok","blobs":"ok","disk":"ok","scheduler":"ok","process":"ok"}"""
    )

  test("its description is also served as JSON, at the path that it announces"):
    val documents = send("GET", "/api/v1", auth = None).json.hcursor.downField("swagger_paths")
    val document = send("GET", documents.get[String]("api-docs").getOrElse(""), auth = None).json.hcursor
    assertEquals(document.get[String]("openapi"), Right("3.0.3"))
    val described = document.downField("paths").keys.toSeq.flatten.toSet
    assertEquals(described, ApiDescription.operations.map(_(1)))
    val fires = document.downField("components").downField("schemas").downField("OwnLimits")
    val least = fires.downField("properties").downField("flaresPerMinute").get[Int]("minimum")
    assertEquals(least, Right(0))

  test("every enumeration of its description has the same values as the code"):
    def listed[A: Encoder](values: Array[A]) = values.flatMap(_.asJson.asString).toSet
    val values = Map(
      "FailureKind" -> listed(FailureKind.values),
      "FlareState" -> listed(FlareState.values),
      "GroupState" -> listed(GroupState.values),
      "InvokerState" -> listed(InvokerState.values),
      "LogStream" -> listed(LogStream.values),
      "Packing" -> listed(Packing.values),
      "RuleStatus" -> RuleStatus.values.map(_.text).toSet,
      "Start" -> listed(PackStart.values),
      "WaitsFor" -> WaitsFor.values.map(_.toString.toLowerCase).toSet,
      "WebExtension" -> WebExtension.values.map(_.suffix.stripPrefix(".")).toSet,
      "WorkerState" -> listed(WorkerState.values)
    )
    def described(name: String, json: Json): Vector[(String, Set[String])] =
      val own = json.hcursor.get[Vector[Option[String]]]("enum").map(name.capitalize -> _.flatten.toSet)
      // Null alone is not an enumeration; it marks a value that may be missing.
      own.toOption.filter(_._2.nonEmpty).toVector ++
        json.asArray.toVector.flatten.flatMap(described(name, _)) ++
        json.asObject.toVector.flatMap(_.toVector).flatMap(described(_, _))
    val found = described("", send("GET", "/api/v1/api-docs", auth = None).json)
    assertEquals(found.toSet, values.toSet)

  test("on the description's own paths, other methods are 405 without a request for credentials"):
    for path <- Seq("/api/v1/openapi.yaml", "/api/v1/api-docs", "/api/v1"); method <- Seq("POST", "DELETE") do
      assertEquals(send(method, path, auth = None).status, 405, s"$method $path")

  test("OpenWhisk's clients get a description in their own form"):
    val host = send("GET", "/", auth = None).json.hcursor
    assertEquals(host.get[Vector[String]]("api_paths"), Right(Vector("/api/v1")))
    assert(host.get[String]("support").isRight)
    val limits = host.downField("limits")
    assertEquals(limits.get[Long]("max_action_duration"), Right(900_000L))
    assertEquals(limits.get[Long]("min_action_memory"), Right(128L << 20))
    assertEquals(limits.get[Int]("sequence_length"), Right(50))
    val nodejs = host.downField("runtimes").downField("nodejs").values.toSeq.flatten.map(_.hcursor)
    val default = nodejs.filter(_.get[Boolean]("default").contains(true))
    assertEquals(default.flatMap(_.get[String]("kind").toOption), Seq("nodejs:20"))
    assertEquals(
      nodejs.head.keys.map(_.toSet),
      Some(Set("kind", "image", "deprecated", "default", "attached", "requireMain"))
    )
    val api = send("GET", "/api/v1", auth = None)
    for field <- Seq("description", "api_version", "api_version_path", "build", "buildno") do
      assert(api.string(field).nonEmpty, field)

  test("a namespace's limits are shown in OpenWhisk's form"):
    val limits = send("GET", "/api/v1/namespaces/_/limits").json.hcursor
    assertEquals(limits.get[Int]("invocationsPerMinute"), Right(10000))
    assertEquals(limits.get[Int]("maxActionMemory"), Right(10240))
    assertEquals(limits.get[String]("maxParameterSize"), Right("1 MB"))
    assertEquals(send("GET", "/api/v1/namespaces/else/limits").status, 403)

  test("each limit is the namespace's own, or else the platform's"):
    val platform = config.getConfig("burst.limits")
    def told(auth: String) = send("GET", "/api/v1/namespaces/_/limits", auth = Some(auth)).json
    def expected(invocations: Int, fires: Int, slots: Int, memory: Int) = Json.obj(
      "invocationsPerMinute" -> invocations.asJson,
      "concurrentInvocations" -> slots.asJson,
      "firesPerMinute" -> fires.asJson,
      "allowedKinds" -> Seq("*").asJson,
      "storeActivations" -> true.asJson,
      "minActionMemory" -> 128.asJson,
      "maxActionMemory" -> memory.asJson,
      "minActionTimeout" -> 100.asJson,
      "maxActionTimeout" -> platform.getDuration("timeout").toMillis.asJson,
      "minActionLogs" -> 0.asJson,
      "maxActionLogs" -> 10.asJson,
      "minActionConcurrency" -> 1.asJson,
      "maxActionConcurrency" -> 200.asJson,
      "maxActionInstances" -> slots.asJson,
      "maxParameterSize" -> "1 MB".asJson
    )
    val Seq(invocations, fires, slots, memory) =
      Seq(
        "invocations-per-minute",
        "fires-per-minute",
        "concurrent-slots",
        "memory"
      ).map(platform.getInt): @unchecked
    assertEquals(told(credentials), expected(invocations, fires, slots, memory))
    val own = """{"invocationsPerMinute":5,"firesPerMinute":7,"concurrentSlots":3,"memory":512}"""
    val limited = send("PUT", s"$admin/limited", Some(s"""{"limits":$own}"""), caller(admin)).string("auth")
    assertEquals(told(limited), expected(5, 7, 3, 512))

  test("credentials open one namespace, with or without a trailing slash"):
    for path <- Seq("/api/v1/namespaces", "/api/v1/namespaces/") do
      assertEquals(send("GET", path).body, """["guest"]""")
      assertEquals(send("GET", path, auth = None).status, 401)

  test("a request's own id is returned, unless it is reserved for OpenWhisk or malformed"):
    def id(own: String) = send("GET", "/ping", headers = Map("X-Request-ID" -> own)).headers("x-request-id")
    assertEquals(id("abc-1.2_X"), "abc-1.2_X")
    for strange <- Seq("sid_invokerHealth", "a b", "<b>", "x" * 65) do
      assert(id(strange).matches("[0-9a-f]{32}"), strange)

  test("pages of any origin may call the API, after a preflight request"):
    def allowed(reply: Reply) = reply.headers.get("access-control-allow-origin")
    val asked = send("OPTIONS", s"$bursts/anything", auth = None)
    assertEquals((asked.status, allowed(asked)), (200, Some("*")))
    assertEquals(asked.headers("access-control-allow-methods"), "GET, DELETE, POST, PUT, HEAD")
    assert(asked.headers("access-control-allow-headers").contains("Authorization"), asked.headers)
    assertEquals(allowed(send("GET", bursts)), Some("*"))
    assertEquals(allowed(send("GET", bursts, auth = None)), Some("*"))
    assertEquals(allowed(send("GET", s"$bursts/none")), Some("*"))
    assertEquals(allowed(send("GET", s"$administration/flares")), None)

  test("invokers are shown by id with their state"):
    val machine = FakeFlareService.machine
    val second = machine.copy(
      status = machine.status.copy(id = InvokerId("invoker1"), runtime = RuntimeInfo("aarch64", "2.40")),
      freeSlots = 0,
      up = false
    )
    service.views = Vector(second, machine)
    assertEquals(
      send("GET", "/api/v1/invokers").body,
      """[{"id":"invoker0","slots":8,"freeSlots":6,"usedSlots":0,"cpuLoad":0.25,"state":"up",
        |"drained":false,"quarantine":null,"driver":"process",
        |"warmPacks":1,"prewarmedPacks":0,"runtime":{"arch":"x86_64","glibc":"2.36"}},
        |{"id":"invoker1","slots":8,"freeSlots":0,"usedSlots":0,"cpuLoad":0.25,"state":"down",
        |"drained":false,"quarantine":null,"driver":"process",
        |"warmPacks":1,"prewarmedPacks":0,"runtime":{"arch":"aarch64","glibc":"2.40"}}]""".stripMargin.replace(
        "\n",
        ""
      )
    )

  test("a quarantined invoker shows why and until when; one that is down shows only that"):
    val avoided = FakeFlareService.machine.copy(quarantine =
      Some(Suspicion("no room on the disk", Timestamp.ofMicros(7)))
    )
    def shown = send("GET", "/api/v1/invokers").json.hcursor.downArray
    service.views = Vector(avoided)
    assertEquals(shown.get[String]("state"), Right("quarantined"))
    assertEquals(shown.downField("quarantine").get[String]("reason"), Right("no room on the disk"))
    assertEquals(shown.downField("quarantine").get[Long]("until"), Right(7L))
    service.views = Vector(avoided.copy(up = false))
    assertEquals(
      (shown.get[String]("state"), shown.get[Option[Int]]("quarantine")),
      (Right("down"), Right(None))
    )

  test("metrics show flares by state, slots and requests, and no labels made up by clients"):
    storage.flares.insert(Samples.flare(state = FlareState.TimedOut))
    send("GET", "/ping")
    send("PATCH", "/ping", Some(""))
    send("PATCH", s"/${"x" * 50}?y=z", Some(""), auth = None)
    send("GET", s"$flares/${"0" * 32}")
    val reply = send("GET", "/metrics", auth = None)
    assert(reply.headers("content-type").startsWith("text/plain"), reply.headers)
    Seq(
      """burst_flares{state="timed-out"} 1.0""",
      """burst_flares{state="running"} 0.0""",
      """burst_slots 8.0""",
      """burst_free_slots 6.0""",
      """burst_invokers{state="up"} 1.0""",
      """burst_http_requests_total{method="other",route="/ping",status="405"} 1.0""",
      """burst_http_requests_total{method="other",route="other",status="404"} 1.0""",
      """burst_http_request_seconds_count{method="GET",route="/api/v1/namespaces/{namespace}/flares/{flareId}"} 1""",
      """burst_part_up{part="database"} 1.0""",
      """burst_part_up{part="scheduler"} 1.0""",
      """burst_blob_failures_total{operation="read"} 0.0""",
      """burst_database_connections{pool="burst-store-writer",state="active"} 0.0"""
    ).foreach(line => assert(reply.body.linesIterator.contains(line), s"$line is not in\n${reply.body}"))
    Seq("PATCH", "xxx", "guest", "y=z").foreach: stranger =>
      assert(!reply.body.contains(stranger), s"$stranger is in\n${reply.body}")
    val writes = reply.body.linesIterator.collectFirst:
      case s"""burst_database_seconds_count{access="write"} $count""" => count.toDouble
    assert(writes.exists(_ > 0), reply.body)

class OpenApiSuite extends HttpSuite:
  private var exercised = Set.empty[(String, String)]

  private def succeed(method: String, path: String, body: Option[String] = None)(using
      munit.Location
  ): Reply =
    assertEquals(ApiDescription.requestFaults(method, path, body), Seq.empty)
    val reply = send(method, path, body, caller(path))
    assert(reply.status < 300, reply.toString)
    exercised += method -> ApiDescription.template(method, path).getOrElse(fail(s"$path is not documented"))
    reply

  test("there is no documentation page for people"):
    for page <- Seq("/docs", "/docs/", "/docs/index.html") do
      assertEquals(send("GET", page, auth = None).status, 404, page)

  test("every documented operation succeeds if called as documented, and replies as documented"):
    service.ending = FakeFlareService.ended(FlareState.Succeeded)
    val all =
      ""","config":{"granularity":null,"packing":"mixed","backend":"direct","chunkSize":4096,"timeout":1,
      "memory":16,"retries":0},"parameters":null"""
    succeed("PUT", s"$bursts/documented?overwrite=false", deployment(more = all))
    succeed("GET", s"$bursts/documented")
    succeed("PUT", s"$bursts/documented?overwrite=true", deployment())
    succeed("GET", s"$bursts/documented/versions?limit=2&skip=0")
    succeed("GET", s"$bursts/documented/versions/0.0.1")
    succeed("POST", s"$bursts/documented/rollback", Some("""{"version":"0.0.1"}"""))
    succeed("GET", s"$bursts?limit=200&skip=0")
    succeed("POST", s"$bursts/documented", Some("""{"params":[1,{}],"size":2,"granularity":1}"""))
    succeed("POST", s"$bursts/documented?blocking=true&result=true", Some("""{"size":1,"params":null}"""))
    val id = succeed("POST", s"$bursts/documented?blocking=true", Some("""{"size":1}""")).string("flareId")
    succeed("GET", s"$flares?state=timed-out&name=documented&limit=1")
    succeed("GET", flares)
    Seq("", "/result", "/logs?worker=0", "/timeline").foreach(part => succeed("GET", s"$flares/$id$part"))
    succeed("DELETE", s"$flares/$id")
    val terms = """{"definition":"documented","size":2,"idleTimeout":1,"granularity":1,"timeout":null}"""
    val group = succeed("POST", groups, Some(terms)).string("groupId")
    succeed("GET", s"$groups?limit=1&skip=0&name=documented")
    succeed("GET", s"$groups/$group")
    succeed("POST", s"$groups/$group", Some("""{"params":[1,{}],"timeout":1}"""))
    succeed("POST", s"$groups/$group?blocking=true", Some("{}"))
    succeed("DELETE", s"$groups/$group")
    succeed("GET", s"$administration/flares?namespace=guest&state=timed-out&limit=1&skip=0")
    succeed("DELETE", s"$administration/flares/$id")
    succeed("GET", s"$administration/groups?namespace=guest&limit=1&skip=0")
    succeed("DELETE", s"$administration/groups/$group")
    succeed("DELETE", s"$bursts/documented")
    entities()
    web()
    Seq(
      "/",
      "/api/v1",
      "/ping",
      "/ready",
      "/metrics",
      "/api/v1/invokers",
      "/api/v1/namespaces",
      "/api/v1/openapi.yaml",
      "/api/v1/api-docs"
    ).foreach(succeed("GET", _))
    val limits = """{"limits":{"burstSize":1,"concurrentSlots":1,"memory":null,"packageSize":9}}"""
    succeed("PUT", s"$admin/documented?overwrite=false", Some(limits))
    succeed("GET", s"$admin?limit=1&skip=0")
    succeed("GET", s"$admin/documented")
    succeed("PATCH", s"$admin/documented", Some("""{"limits":{"memory":512}}"""))
    succeed("POST", s"$admin/documented/key")
    for method <- Seq("PUT", "GET", "DELETE") do
      succeed(method, s"$administration/invokers/${service.views.head.status.id.value}/drain")
    succeed("DELETE", s"$admin/documented")
    assertEquals(exercised, ApiDescription.operations)

  private def web()(using munit.Location): Unit =
    val exec = """{"kind":"nodejs","code":"function main() {}"}"""
    val open = """[{"key":"web-export","value":true},{"key":"web-custom-options","value":true}]"""
    succeed(
      "PUT",
      "/api/v1/namespaces/_/actions/open",
      Some(s"""{"exec":$exec,"annotations":$open}""")
    )
    service.program = Some(_ => JsonText("{}"))
    def called(path: String): Unit =
      Seq("GET", "HEAD", "DELETE", "OPTIONS").foreach(succeed(_, path))
      Seq("POST", "PUT", "PATCH").foreach(succeed(_, path, Some("""{"n":1}""")))
    called("/api/v1/web/guest/default/open")
    called("/api/v1/web/guest/default/open.json/and/more")
    val management = "/api/v1/web/whisk.system/apimgmt"
    val verbs = Seq("get", "head", "delete", "options", "post", "put", "patch")
    val apis = verbs.map: verb =>
      val operation = s""""gatewayBasePath":"/base","gatewayPath":"/path","gatewayMethod":"$verb""""
      val action = """{"name":"open","namespace":"_","backendMethod":"get","backendUrl":"https://h/open"}"""
      val body = Some(s"""{"apidoc":{"namespace":"_",$operation,"action":$action}}""")
      succeed("POST", s"$management/createApi?responsetype=json", body)
    val path = java.net.URI.create(apis.head.string("gwApiUrl")).getPath
    called(s"$path/path")
    succeed("GET", s"$management/getApi?basepath=/base&relpath=/path&operation=get&limit=1&skip=0")
    succeed("DELETE", s"$management/deleteApi?basepath=/base&relpath=/path&operation=get")
    succeed("DELETE", s"$management/deleteApi?basepath=/base")
    succeed("DELETE", "/api/v1/namespaces/_/actions/open")

  private def entities()(using munit.Location): Unit =
    val here = "/api/v1/namespaces/_"
    val pairs = """[{"key":"a","value":{"b":1}},{"key":"c","value":null,"init":true}]"""
    val about = s""""parameters":$pairs,"annotations":$pairs,"publish":true"""
    val exec = """{"kind":"python:default","code":"def main(args): return args","main":"main"}"""
    val limits = """{"timeout":1000,"memory":256,"logs":1,"concurrency":1}"""
    val action = Some(s"""{"exec":$exec,"limits":$limits,"delAnnotations":["d"],$about}""")
    val parts = Some("""{"exec":{"kind":"sequence","components":["/_/documented"]}}""")
    succeed("PUT", s"$here/packages/tools?overwrite=false", Some(s"{$about}"))
    succeed("PUT", s"$here/packages/bound", Some("""{"binding":{"namespace":"_","name":"tools"}}"""))
    succeed("PUT", s"$here/actions/documented?overwrite=false", action)
    succeed("PUT", s"$here/actions/sequence", parts)
    succeed("PUT", s"$here/actions/tools/documented", action)
    succeed("POST", s"$here/actions/tools/documented", Some("""{"n":1}"""))
    service.program = Some(_ => JsonText("{}"))
    val record = succeed("POST", s"$here/actions/documented?blocking=true&timeout=5000", Some("{}"))
    val activation = s"$here/activations/${record.string("activationId")}"
    Seq("", "/logs", "/result").foreach(part => succeed("GET", s"$activation$part"))
    succeed("GET", s"$here/activations?limit=1&skip=0&name=documented&since=0&docs=true")
    succeed("GET", s"$here/activations?count=true")
    for path <- Seq("actions", "packages") do
      succeed("GET", s"$here/$path?limit=2&skip=0")
      succeed("GET", s"$here/$path?count=true")
    succeed("GET", s"$here/actions/documented?code=false")
    succeed("GET", s"$here/actions/tools/")
    for path <- Seq("actions/sequence", "actions/bound/documented", "packages/tools", "packages/bound") do
      succeed("GET", s"$here/$path")
    succeed("GET", s"$here/limits")
    succeed("POST", s"$here/packages/refresh")
    succeed("PUT", s"$here/triggers/event?overwrite=true", Some(s"{$about}"))
    val rule = """"trigger":"/_/event","action":{"path":"guest","name":"documented"}"""
    succeed("PUT", s"$here/rules/rule?overwrite=false", Some(s"{$rule}"))
    succeed("POST", s"$here/triggers/event", Some("""{"n":1}"""))
    succeed("POST", s"$here/rules/rule", Some("""{"status":"inactive"}"""))
    for path <- Seq("triggers", "rules") do
      succeed("GET", s"$here/$path?limit=2&skip=0")
      succeed("GET", s"$here/$path?count=true")
    for path <- Seq("triggers/event", "rules/rule") do
      succeed("GET", s"$here/$path")
      succeed("DELETE", s"$here/$path")
    for path <- Seq("actions/sequence", "actions/documented", "actions/tools/documented", "packages/bound") do
      succeed("DELETE", s"$here/$path")
    succeed("DELETE", s"$here/packages/tools?force=true")

  test("every documented path answers exactly the documented methods"):
    val paths = ApiDescription.operations.map(_(1))
    for
      path <- paths
      method <- Seq("GET", "PUT", "POST", "DELETE", "PATCH")
    do
      val concrete = ApiDescription.concrete(path)
      val reply = send(method, concrete, Option.when(method != "GET")("{}"), caller(concrete))
      // It may also be an instance of another, more general path.
      val documented = ApiDescription.operations(method -> path)
      val known = ApiDescription.template(method, concrete).isDefined
      if documented || !known then
        assertEquals(reply.status != 405, documented, s"$method $path answered ${reply.status}")
      // Below a path, nothing answers except what is documented there.
      val below = send("GET", concrete.stripSuffix("/") + "/below/it", None, caller(concrete)).status
      assert(Set(400, 403, 404).contains(below), s"something answers below $path")
