package burst.controller.http

import burst.controller.store.update
import burst.controller.flare.FlareState
import burst.controller.scheduler.{CancelOutcome, Refusal}
import burst.protocol.{Failure, FailureKind, FlareId, GroupRole, Inputs, JsonText, Timestamp}
import scala.concurrent.duration.DurationInt

class GroupsSuite extends HttpSuite:
  override def beforeAll(): Unit =
    super.beforeAll()
    service.reset()
    deploy("hello", ""","config":{"granularity":2,"timeout":5000,"retries":3},"parameters":{"who":"all"}""")
    ()

  private def open(body: String) = send("POST", groups, Some(body))
  private def opened(more: String = ""): String =
    val reply = open(s"""{"definition":"hello","size":2$more}""")
    assertEquals(reply.status, 202, reply.body)
    reply.string("groupId")
  private def flare(group: String, body: String) = send("POST", s"$groups/$group", Some(body))
  private def submitted = service.last.get.getOrElse(fail("not submitted"))

  test("a group is submitted with its definition's terms, but without retries"):
    opened()
    assertEquals((submitted.size, submitted.granularity, submitted.timeout), (2, Some(2), 5.seconds))
    assertEquals(submitted.group, Some(GroupRole.Holder(300.seconds)))
    assertEquals(submitted.retries, 0)
    opened(""","idleTimeout":1500,"granularity":1""")
    assertEquals((submitted.idleTimeout, submitted.granularity), (Some(1500.millis), Some(1)))

  test("a flare on a group has the group's terms, with the group's parameters under its inputs"):
    val group = opened()
    assertEquals(flare(group, """{"params":{"n":1},"timeout":70}""").status, 202)
    assertEquals(submitted.memberOf, FlareId.parse(group))
    assertEquals((submitted.size, submitted.granularity, submitted.timeout), (2, Some(2), 70.millis))
    assertEquals(submitted.inputs, Inputs.Shared(JsonText("""{"who":"all","n":1}""")))
    flare(group, """{"params":[{"who":"me"},7]}""")
    assertEquals(submitted.inputs, Inputs.Each(Vector(JsonText("""{"who":"me"}"""), JsonText("7"))))
    assertEquals(submitted.timeout, 5.seconds)

  test("an invalid group, or a flare that cannot run on one, is refused with the reason"):
    refused(open("{}"), 400, "'definition'")
    refused(open("""{"definition":"hello"}"""), 400, "'size'")
    refused(open("""{"definition":"hello","size":0}"""), 400, "'size'")
    refused(open("""{"definition":"nobody","size":1}"""), 404, "'nobody'")
    refused(open("""{"definition":"no\u0000body","size":1}"""), 400, "A name")
    refused(open("""{"definition":"hello","size":1,"retries":1}"""), 400, "'retries'")
    refused(open("""{"definition":"hello","size":1,"idleTimeout":3600001}"""), 400, "'idleTimeout'")
    val group = opened()
    refused(flare(group, """{"params":[1,2,3]}"""), 400, "'size' is 2")
    refused(flare(group, """{"size":2}"""), 400, "'size'")
    refused(flare("nonsense", "{}"), 400, "group id")
    refused(flare("0" * 32, "{}"), 404, "no group")
    service.refusing = Some(Refusal.GroupEnded(FlareId.random()))
    refused(flare(group, "{}"), 409, "has ended")

  test("groups and flares are listed and addressed separately"):
    val group = opened()
    val id = flare(group, "{}").string("flareId")
    assertEquals(send("GET", s"$flares/$id").string("groupId"), group)
    refused(send("GET", s"$flares/$group"), 404)
    refused(send("DELETE", s"$flares/$group"), 404)
    refused(send("GET", s"$groups/$id"), 404)
    refused(send("DELETE", s"$groups/$id"), 404)
    def ids(path: String, field: String) =
      send("GET", path).json.asArray.getOrElse(fail("no list")).flatMap(_.hcursor.get[String](field).toOption)
    assert(ids(groups, "groupId").contains(group))
    assert(!ids(flares, "flareId").contains(group))
    assert(!ids(groups, "groupId").contains(id))

  test("another namespace's group is not found"):
    val other = storage.namespaces.create("guest-of-groups")
    val group = opened()
    refused(send("GET", s"$groups/$group", auth = other), 404)
    refused(send("POST", s"$groups/$group", Some("{}"), auth = other), 404)
    refused(send("DELETE", s"$groups/$group", auth = other), 404)
    assertEquals(send("GET", groups, auth = other).body, "[]")

  test("a group shows its state, and no error if it was closed on request"):
    val group = opened()
    val id = FlareId.parse(group).getOrElse(fail("no id"))
    assertEquals(send("GET", s"$groups/$group").string("state"), "queued")
    def stored(state: FlareState, isCancelled: Boolean = false) =
      storage.flares.find(id).foreach: found =>
        val ended = Option.when(state.isFinal)(Timestamp.ofMicros(5))
        val error = Option.when(isCancelled)(Failure(FailureKind.Cancelled, "the group was closed"))
        storage.flares.update(found.copy(state = state, ended = ended, error = error))
      send("GET", s"$groups/$group")
    assertEquals(stored(FlareState.Starting).string("state"), "opening")
    assertEquals(stored(FlareState.Running).string("state"), "open")
    val closing = stored(FlareState.Running, isCancelled = true)
    assertEquals(closing.string("state"), "closing")
    val closed = stored(FlareState.Cancelled, isCancelled = true)
    assertEquals(closed.string("state"), "closed")
    for one <- Vector(closing, closed) do
      assert(one.json.hcursor.downField("error").focus.exists(_.isNull))
    refused(flare(group, "{}"), 409, "has ended")

  test("closing a group is accepted unless it has already ended"):
    val group = opened()
    assertEquals(send("DELETE", s"$groups/$group").string("groupId"), group)
    service.cancelling = CancelOutcome.AlreadyEnded
    refused(send("DELETE", s"$groups/$group"), 409, "has ended")
