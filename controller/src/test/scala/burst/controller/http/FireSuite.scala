package burst.controller.http

import burst.controller.firing.{FakeActions, FakeInvocations as Begun, Firing}
import burst.controller.limits.MinuteCounts
import burst.controller.store.{Blocking, Identity, Samples, StoreRetry}
import io.circe.syntax.*
import io.circe.{parser, Json}
import java.time.Instant
import org.apache.pekko.actor.typed.Scheduler
import org.apache.pekko.http.scaladsl.model.{HttpMethods, HttpRequest}
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.duration.{Duration, DurationInt}
import scala.concurrent.{Await, ExecutionContext}

/** Triggers fired by requests and by alarms, and the built-in packages, over the API. */
class FireSuite extends HttpSuite:
  override def settings =
    "burst.alarms.interval = 50ms, burst.http.public-url = \"https://burst.example.org/\""

  private val here = "/api/v1/namespaces/_"

  private def put(path: String, body: String = "{}")(using munit.Location): Reply =
    val reply = send("PUT", s"$here/$path?overwrite=true", Some(body))
    assertEquals(reply.status, 200, reply.body)
    reply

  private def ruled(name: String, parameters: String = "[]"): Unit =
    deploy(s"$name-action")
    put(s"triggers/$name", s"""{"parameters":$parameters}""")
    put(s"rules/$name-rule", s"""{"trigger":"/_/$name","action":"/_/$name-action"}""")

  private def feed(name: String, event: String, trigger: String, more: String = "") = send(
    "POST",
    s"/api/v1/namespaces/whisk.system/actions/alarms/$name?blocking=true&result=true",
    Some(s"""{"lifecycleEvent":"$event","triggerName":"/_/$trigger","authKey":"$credentials"$more}""")
  )

  private def util(name: String, payload: String, path: String = "whisk.system/actions/utils") =
    send("POST", s"/api/v1/namespaces/$path/$name?blocking=true&result=true", Some(payload))

  test("firing a trigger without an active rule does nothing and leaves no record"):
    put("triggers/idle")
    val reply = send("POST", s"$here/triggers/idle", Some("{}"))
    assertEquals((reply.status, reply.body), (204, ""))
    refused(send("POST", s"$here/triggers/nobody", Some("{}")), 404, "'nobody'")

  test("an active rule's action gets the payload over the parameters, and the record shows what began"):
    ruled("fired", """[{"key":"a","value":1},{"key":"b","value":1}]""")
    val reply = send("POST", s"$here/triggers/fired", Some("""{"b":2}"""), headers = Map("X-Own" -> "yes"))
    assertEquals(reply.status, 202, reply.body)
    val id = reply.string("activationId")
    assertEquals(reply.headers.get("x-openwhisk-activation-id"), Some(id))
    val inputs = service.last.get.getOrElse(fail("not submitted")).inputs.text.utf8String
    val shared = parser.parse(inputs).toOption.get.hcursor.downField("shared")
    assertEquals((shared.get[Int]("a"), shared.get[Int]("b")), (Right(1), Right(2)))
    val told = shared.downField("__ow_headers")
    assertEquals(told.get[String]("x-own"), Right("yes"))
    assertEquals(told.keys.exists(_.exists(_ == "authorization")), false)
    val record = send("GET", s"$here/activations/$id").json.hcursor
    assertEquals(record.get[String]("name"), Right("fired"))
    assertEquals(record.downField("response").get[Json]("result"), Right(Json.obj("b" -> 2.asJson)))
    val log = record.downField("logs").downArray.as[String].flatMap(parser.parse).toOption.get.hcursor
    assertEquals(log.get[String]("rule"), Right("guest/fired-rule"))
    assertEquals(log.get[Boolean]("success"), Right(true))

  test("a fire waits for a record that cannot be stored for a moment, as a refused client fires again"):
    ruled("awaited")
    given ExecutionContext = system.executionContext
    given Scheduler = system.scheduler
    val invocations = Begun()
    invocations.refusedRecords.set(1)
    val blocking = Blocking(system.executionContext)
    val body = RequestBody(BodyTimes(10.seconds, 0, 1.hour), JsonLimits(10, 10, 10))
    val bodies = BodyIntake.Settings(1 << 20, 10 << 20, rate = 1, burst = 100L << 20).fitting
    val actions = FakeActions("awaited-action")
    val routes = FireRoutes(
      storage.triggers,
      actions,
      Firing(actions, invocations, blocking, _ => (false, "No.")),
      MinuteCounts(),
      body,
      BodyIntake(body, bodies, FairExecutor(system.executionContext), blocking),
      StoreRetry(FireRoutes.patience(90.seconds)),
      OtherCollections(storage.names, blocking)
    )
    val answer = Route.toFunction(routes.route(Identity("guest", Samples.limits)))
    val reply = Await.result(answer(HttpRequest(HttpMethods.POST, "/triggers/awaited")), 30.seconds)
    assertEquals(reply.status.intValue, 202)
    assertEquals((invocations.begun.size, invocations.recorded.size), (1, 1))

  test("a fire stops retrying before its request times out"):
    assertEquals(FireRoutes.patience(90.seconds), 20.seconds)
    assertEquals(FireRoutes.patience(8.seconds), 2.seconds)
    assertEquals(FireRoutes.patience(Duration.Inf), 20.seconds)

  test("a fire accepts an object or no body"):
    ruled("picky")
    def fire(body: Option[String]) = send("POST", s"$here/triggers/picky", body)
    assertEquals(fire(Some("")).status, 202)
    assertEquals(fire(None).status, 202)
    Vector("[]", "7", "null", "\"a\"").foreach(body => refused(fire(Some(body)), 400, "object"))
    refused(fire(Some("{")), 400)
    refused(fire(Some("""{"a":1,"a":2}""")), 400)
    refused(fire(Some(s"""{"a":"${"x" * 1100000}"}""")), 413)

  test("the number of a namespace's fires per minute is limited"):
    val own =
      send("PUT", s"$admin/eager", Some("""{"limits":{"firesPerMinute":1}}"""), caller(admin)).string("auth")
    assertEquals(send("PUT", s"$here/triggers/t", Some("{}"), Some(own)).status, 200)
    def fire() = send("POST", s"$here/triggers/t", Some("{}"), Some(own))
    assertEquals(fire().status, 204)
    // The minute may end meanwhile.
    val limited = Iterator.continually(fire()).take(3).find(_.status != 204).getOrElse(fail("no limit"))
    refused(limited, 429, "triggers fired", "count: 1, allowed: 1")
    val seconds = limited.headers.get("retry-after").flatMap(_.toIntOption)
    assert(seconds.exists(s => s >= 1 && s <= 60), seconds)

  test("everybody can read and invoke the built-in packages, and nobody can change them"):
    val listed = send("GET", "/api/v1/namespaces/whisk.system/packages").json.asArray.toVector.flatten
    assertEquals(listed.flatMap(_.hcursor.get[String]("name").toOption).toSet, Set("alarms", "utils"))
    val alarms = send("GET", "/api/v1/namespaces/whisk.system/packages/alarms").json.hcursor
    assertEquals(alarms.downField("feeds").values.map(_.size), Some(3))
    val utils = send("GET", "/api/v1/namespaces/whisk.system/packages/utils").json.hcursor
    assertEquals(utils.downField("actions").values.map(_.size), Some(9))
    assertEquals(send("GET", "/api/v1/namespaces/whisk.system/actions/utils/echo").status, 200)
    refused(send("PUT", "/api/v1/namespaces/whisk.system/packages/mine", Some("{}")), 403)
    refused(send("DELETE", "/api/v1/namespaces/whisk.system/actions/utils/echo"), 403)
    refused(send("PUT", s"$admin/whisk.system", Some("{}"), caller(admin)), 400, "'whisk.system'")
    val echoed = util("echo", """{"a":1}""")
    assertEquals((echoed.status, echoed.json), (200, Json.obj("a" -> 1.asJson)))
    assertEquals(util("namespace", "{}").string("namespace"), "guest")
    assertEquals(
      util("hosturl", "{}").string("url"),
      "https://burst.example.org/api/v1/namespaces/guest/actions"
    )
    val failed = util("smash", "{}")
    assertEquals((failed.status, failed.error.contains("$fieldName")), (502, true))
    val burst = "/api/v1/namespaces/whisk.system/actions/utils/echo?burst=true"
    refused(send("POST", burst, Some("""{"value":[1]}""")), 400, "'builtin'")

  test("a binding of a built-in package may have parameters of its own"):
    put(
      "packages/mine",
      """{"binding":{"namespace":"whisk.system","name":"utils"},"parameters":[{"key":"p","value":1}]}"""
    )
    assertEquals(
      util("echo", """{"a":1}""", "_/actions/mine").json,
      Json.obj("p" -> 1.asJson, "a" -> 1.asJson)
    )

  test("a built-in action can be invoked without waiting, and leaves a record"):
    val reply = send("POST", "/api/v1/namespaces/whisk.system/actions/utils/date", Some("{}"))
    assertEquals(reply.status, 202)
    val path = s"$here/activations/${reply.string("activationId")}"
    val end = System.nanoTime() + 60.seconds.toNanos
    while send("GET", path).status != 200 && System.nanoTime() < end do Thread.onSpinWait()
    assertEquals(send("GET", path).json.hcursor.downField("response").get[Boolean]("success"), Right(true))

  test("an alarm fires its trigger when it is due, and deletes it afterwards if asked to"):
    ruled("woken")
    // Tried again if the date has passed before it is checked.
    val (date, created) = Iterator
      .continually:
        val date = Instant.now().plusSeconds(2).toEpochMilli
        val more = s""","date":$date,"trigger_payload":{"p":1},"deleteAfterFire":"true""""
        date -> feed("once", "CREATE", "woken", more)
      .take(5)
      .find((_, created) => created.status == 200)
      .getOrElse(fail("the alarm was never created"))
    assertEquals(created.string("status"), "success", created.body)
    val end = System.nanoTime() + 60.seconds.toNanos
    while send("GET", s"$here/triggers/woken").status != 404 && System.nanoTime() < end do Thread.onSpinWait()
    val inputs = service.last.get.getOrElse(fail("not fired")).inputs.text.utf8String
    val shared = parser.parse(inputs).toOption.get.hcursor.downField("shared")
    assertEquals(shared.get[Int]("p"), Right(1))
    assert(System.currentTimeMillis() >= date, "not before its time")
    assertEquals(send("GET", s"$here/rules/woken-rule").string("status"), "inactive")

  test("a feed reports what is wrong as an action does"):
    put("triggers/unwoken")
    val bad = feed("alarm", "CREATE", "unwoken", ""","cron":"never"""")
    assertEquals(bad.status, 502, bad.body)
    assert(bad.error.contains("cron"), bad.body)
    val far = ""","cron":"0 0 1 1 *","timezone":"Asia/Tokyo""""
    assertEquals(feed("alarm", "CREATE", "unwoken", far).status, 200)
    val read = feed("alarm", "READ", "unwoken").json.hcursor
    assertEquals(read.downField("status").get[Boolean]("active"), Right(true))
    assertEquals(read.downField("config").get[String]("timezone"), Right("Asia/Tokyo"))
    assertEquals(feed("alarm", "DELETE", "unwoken").status, 200)
