package burst.controller.http

import burst.controller.store.insert
import burst.controller.limits.OwnLimits
import burst.controller.store.Samples

class AccessSuite extends HttpSuite:
  private lazy val Array(uuid, key) = credentials.split(":"): @unchecked

  private val paths = Seq(
    "/api/v1/invokers",
    s"$bursts",
    s"$bursts/x",
    s"$flares",
    s"$flares/${"0" * 32}",
    s"$flares/${"0" * 32}/logs",
    s"$groups",
    s"$groups/${"0" * 32}"
  )

  test("without valid credentials, every path of a namespace is 401"):
    val wrong =
      Seq(
        None,
        Some(""),
        Some(":"),
        Some(s"$uuid:"),
        Some(s":$key"),
        Some(s"$key:$uuid"),
        Some(s"$uuid:${key}0")
      )
    for
      path <- paths
      auth <- wrong
    do
      val reply = send("GET", path, auth = auth)
      refused(reply, 401, "Basic")
      assertEquals(
        reply.headers.get("www-authenticate"),
        Some("Basic realm=\"OpenWhisk secure realm\",charset=UTF-8")
      )

  test("credentials are checked before anything else, even if the body is large"):
    refused(send("PUT", s"$bursts/x!", Some("x" * 1000000), auth = None), 401)
    refused(send("POST", s"$bursts/x", Some("nope"), auth = None), 401)
    refused(send("DELETE", s"$flares/nonsense", auth = None), 401)

  test("another namespace is 403, whether it exists or not"):
    val other = storage.namespaces.create("other")
    Seq("other", "nobody", "GUEST", "%20", "a%2Fb").foreach: namespace =>
      refused(send("GET", s"/api/v1/namespaces/$namespace/bursts"), 403, "'_'")
      refused(send("POST", s"/api/v1/namespaces/$namespace/bursts/x", Some("{}")), 403)
    assertEquals(send("GET", "/api/v1/namespaces/guest/bursts").status, 200)
    assertEquals(send("GET", "/api/v1/namespaces/other/bursts", auth = other).status, 200)

  test("nothing of one namespace is visible to another"):
    val other = storage.namespaces.create("visitor")
    deploy("mine")
    val flare = Samples.flare()
    storage.flares.insert(flare)
    refused(send("GET", s"$bursts/mine", auth = other), 404)
    refused(send("DELETE", s"$bursts/mine", auth = other), 404)
    refused(send("POST", s"$bursts/mine", Some("""{"size":1}"""), auth = other), 404)
    refused(send("GET", s"$flares/${flare.id.value}", auth = other), 404)
    refused(send("DELETE", s"$flares/${flare.id.value}", auth = other), 404)
    assertEquals(send("GET", bursts, auth = other).body, "[]")
    assertEquals(send("GET", flares, auth = other).body, "[]")
    assertEquals(send("GET", s"$bursts/mine").status, 200)

  test("a namespace's own limits apply"):
    val small = storage.namespaces.create(
      "small",
      OwnLimits(
        burstSize = Some(2),
        memory = Some(100),
        packageBytes = Some(10),
        flaresPerMinute = Some(2)
      )
    )
    refused(send("PUT", s"$bursts/x", deployment(), auth = small), 413, "allows 10")
    Samples.put(storage, Samples.definition("x", "small"))
    refused(send("POST", s"$bursts/x", Some("""{"size":3}"""), auth = small), 400, "from 1 to 2")
    refused(send("POST", s"$bursts/x", Some("""{"size":1,"memory":101}"""), auth = small), 400, "100")
    def flare() = send("POST", s"$bursts/x", Some("""{"size":1}"""), auth = small)
    (1 to 2).foreach(_ => assertEquals(flare().status, 202))
    // The rate may allow another one meanwhile.
    val reply = Iterator.continually(flare()).take(10).find(_.status == 429).getOrElse(fail("no limit"))
    refused(reply, 429, "2 flares a minute", "wait")
    val seconds = reply.headers.get("retry-after").flatMap(_.toIntOption)
    assert(seconds.exists(s => s >= 1 && s <= 30), seconds)
    deploy("x")
    assertEquals(send("POST", s"$bursts/x", Some("""{"size":1}""")).status, 202, "guest has its own rate")

  test("default memory is capped at the namespace's limit, for groups as well"):
    val own = OwnLimits(memory = Some(100), concurrentSlots = Some(2), burstSize = Some(3))
    val modest = storage.namespaces.create("modest", own)
    Samples.put(storage, Samples.definition("plain", "modest"))
    val large = Samples.definition("large", "modest")
    Samples.put(storage, large.copy(options = large.options.copy(memory = Some(200))))
    def memory = service.last.get.map(_.memory)
    assertEquals(send("POST", s"$bursts/plain", Some("""{"size":1}"""), auth = modest).status, 202)
    assertEquals(memory, Some(100))
    def open(more: String) = send("POST", groups, Some(s"""{"size":1,$more}"""), auth = modest)
    assertEquals(open(""""definition":"plain"""").status, 202)
    assertEquals(memory, Some(100))
    // As if deployed before the limit was set.
    refused(send("POST", s"$bursts/large", Some("""{"size":1}"""), auth = modest), 400, "memory is 100")
    refused(open(""""definition":"large""""), 400, "memory is 100")
    refused(open(""""definition":"plain","memory":101"""), 400, "100")
    refused(
      send("POST", groups, Some("""{"size":4,"definition":"plain"}"""), auth = modest),
      400,
      "from 1 to 3"
    )
    assertEquals(open(""""definition":"large","memory":50""").status, 202)
