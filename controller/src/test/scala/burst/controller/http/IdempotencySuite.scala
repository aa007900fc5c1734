package burst.controller.http

import burst.controller.flare.FlareState
import burst.controller.http.FakeFlareService.ended
import burst.controller.limits.OwnLimits
import burst.controller.scheduler.Refusal
import burst.protocol.JsonText
import java.util.concurrent.{Callable, Executors}
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** Requests that are repeated with the same `Idempotency-Key`. */
class IdempotencySuite extends HttpSuite:
  private val actions = "/api/v1/namespaces/_/actions"
  private val numbers = java.util.concurrent.atomic.AtomicInteger()

  override def beforeAll(): Unit =
    super.beforeAll()
    service.reset()
    deploy("hello")
    deploy("another")
    ()

  private def fresh() = s"\"key ${numbers.incrementAndGet()}\""

  private def post(
      key: String,
      body: String = """{"size":1}""",
      path: String = s"$bursts/hello",
      auth: String = credentials
  ) = send("POST", path, Some(body), Some(auth), headers = Map("Idempotency-Key" -> key))

  private def begun = service.requests.size

  test("the same request is begun once, and gets the same response each time"):
    val key = fresh()
    val first = post(key)
    assertEquals(first.status, 202, first.body)
    (1 to 3).foreach(_ => assertEquals(post(key).body, first.body))
    assertEquals(begun, 1)
    assertEquals(post(fresh()).status, 202)
    assertEquals(send("POST", s"$bursts/hello", Some("""{"size":1}""")).status, 202)
    assertEquals(begun, 3)

  test("a repeated request may wait for the end, and gets it afterwards as well"):
    val key = fresh()
    val id = post(key).string("flareId")
    service.ending = ended(FlareState.Succeeded)
    (1 to 2).foreach: _ =>
      val reply = post(key, path = s"$bursts/hello?blocking=true")
      assertEquals((reply.status, reply.string("flareId"), reply.string("state")), (200, id, "succeeded"))
    assertEquals(post(key).string("flareId"), id)
    assertEquals(begun, 1)

  test("another request with the same key is refused and begins nothing"):
    val key = fresh()
    assertEquals(post(key).status, 202)
    refused(post(key, body = """{"size":2}"""), 422, "Idempotency-Key", "another request")
    refused(post(key, path = s"$bursts/another"), 422, "another request")
    refused(post(key, body = """{"definition":"hello","size":1}""", path = groups), 422)
    refused(post(key, body = "{}", path = s"$actions/hello"), 422)
    refused(post(key, body = """{"size":7}""", path = s"$bursts/ghost"), 422)
    assertEquals(begun, 1)

  test("twenty requests at the same time begin one flare"):
    val key = fresh()
    val pool = Executors.newFixedThreadPool(20)
    try
      val call: Callable[Reply] = () => post(key)
      val replies = pool.invokeAll(Vector.fill(20)(call).asJava).asScala.toVector.map(_.get)
      assertEquals(replies.map(_.status).toSet, Set(202))
      assertEquals(replies.map(_.string("flareId")).toSet.size, 1)
      assertEquals(begun, 1)
    finally pool.shutdownNow()

  test("each namespace has its own keys"):
    val key = fresh()
    val other = storage.namespaces.create("elsewhere").getOrElse(fail("not created"))
    send("PUT", s"$bursts/hello", deployment(), Some(other))
    val mine = post(key)
    val theirs = post(key, body = """{"size":2}""", auth = other)
    assertEquals((mine.status, theirs.status), (202, 202))
    assertNotEquals(mine.body, theirs.body)
    assertEquals(post(key, body = """{"size":2}""", auth = other).body, theirs.body)

  test("a refused request may be repeated, and a repeat does not count against the namespace's rate"):
    val key = fresh()
    service.refusing = Some(Refusal.QueueFull(7))
    refused(post(key), 429)
    service.refusing = None
    assertEquals(post(key).status, 202)
    service.refusing = Some(Refusal.QueueFull(7))
    assertEquals(post(key).status, 202, "the flare already exists")
    service.refusing = None
    val own = OwnLimits(flaresPerMinute = Some(2))
    val slow = storage.namespaces.create("slow", own).getOrElse(fail("not created"))
    send("PUT", s"$bursts/hello", deployment(), Some(slow))
    (1 to 9).foreach(_ => assertEquals(post(key, auth = slow).status, 202))
    assertEquals(post(fresh(), auth = slow).status, 202)
    // The rate may allow another one meanwhile.
    val limited = Iterator.continually(post(fresh(), auth = slow)).take(10).find(_.status == 429)
    refused(limited.getOrElse(fail("no limit")), 429, "2 flares a minute")
    assertEquals(post(key, auth = slow).status, 202, "an existing flare uses none of the rate")

  test("a repeated request finds its flare even if the definition was deleted"):
    deploy("passing")
    val key = fresh()
    val first = post(key, path = s"$bursts/passing")
    assertEquals(send("DELETE", s"$bursts/passing").status, 200)
    assertEquals(post(key, path = s"$bursts/passing").body, first.body)
    refused(post(fresh(), path = s"$bursts/passing"), 404)

  test("a flare that is stored between the lookup and the insert is found after all"):
    val key = fresh()
    service.refusing = Some(Refusal.AlreadySubmitted)
    service.meanwhile = () =>
      service.refusing = None
      service.meanwhile = () => ()
    assertEquals(post(key).status, 202)
    service.refusing = Some(Refusal.AlreadySubmitted)
    val stuck = post(fresh())
    refused(stuck, 409, "same 'Idempotency-Key'", "again soon")
    assertEquals(stuck.headers("retry-after"), "1")

  test("groups and the flares on them are begun once"):
    val key = fresh()
    val body = """{"definition":"hello","size":1}"""
    val group = post(key, body, groups).string("groupId")
    assertEquals(post(key, body, groups).string("groupId"), group)
    val second = fresh()
    val flare = post(second, "{}", s"$groups/$group").string("flareId")
    assertEquals(post(second, "{}", s"$groups/$group").string("flareId"), flare)
    assertEquals(begun, 2)

  test("an action is invoked once, and its result is returned again"):
    val key = fresh()
    service.ending = ended(FlareState.Succeeded)
    service.program = Some(_ => JsonText("""{"n":1}"""))
    def invoke(query: String, body: String = """{"a":1}""") = post(key, body, s"$actions/hello$query")
    val first = invoke("?blocking=true")
    assertEquals(first.status, 200, first.body)
    assertEquals(invoke("?blocking=true&result=true").body, """{"n":1}""")
    assertEquals(invoke("").string("activationId"), first.string("activationId"))
    assertEquals(invoke("?blocking=true").json, first.json)
    refused(invoke("", """{"a":2}"""), 422)
    refused(invoke("?burst=true", """{"a":1}"""), 422)
    assertEquals(begun, 1)

  test("a sequence is invoked once, and its result is returned again"):
    service.ending = ended(FlareState.Succeeded)
    service.program = Some(_ => JsonText("""{"n":2}"""))
    val components = """["/_/hello","/_/hello"]"""
    val made =
      send("PUT", s"$actions/twice", Some(s"""{"exec":{"kind":"sequence","components":$components}}"""))
    assertEquals(made.status, 200, made.body)
    val key = fresh()
    val first = post(key, "{}", s"$actions/twice?blocking=true")
    assertEquals(first.status, 200, first.body)
    assertEquals(post(key, "{}", s"$actions/twice?blocking=true").json, first.json)
    assertEquals(begun, 2, "each component runs once")

  test("a request may have one key, of 1 to 255 printable characters"):
    val long = "k" * 255
    assertEquals(post(long).status, 202)
    refused(post(long + "k"), 400, "one 'Idempotency-Key' of 1 to 255 printable")
    def raw(keys: String*) =
      val lines = keys.map(key => s"Idempotency-Key: $key\r\n").mkString
      val asked =
        s"POST $bursts/hello HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(credentials)}\r\n$lines" +
          "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"size\":1}"
      Using.resource(RawConnection(port))(_.send(asked).reply())
    assertEquals(raw("a").status, 202)
    refused(raw("a", "b"), 400, "one 'Idempotency-Key'")
    refused(raw(""), 400, "1 to 255")
    refused(raw("k\u00e9y"), 400, "printable")
    assertEquals(begun, 2)
