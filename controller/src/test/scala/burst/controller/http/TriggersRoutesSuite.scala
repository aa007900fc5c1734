package burst.controller.http

import io.circe.Json
import io.circe.syntax.*

/** Triggers and rules, as OpenWhisk's clients create, read, change and delete them. */
class TriggersRoutesSuite extends HttpSuite:
  private val triggers = "/api/v1/namespaces/_/triggers"
  private val rules = "/api/v1/namespaces/_/rules"

  private def put(path: String, body: String = "{}", overwrite: Boolean = true)(using munit.Location): Reply =
    val reply = send("PUT", s"$path?overwrite=$overwrite", Some(body))
    assertEquals(reply.status, 200, reply.body)
    reply

  private def action(name: String): String =
    deploy(name)
    name

  private def rule(name: String, trigger: String, action: String)(using munit.Location): Reply =
    put(s"$rules/$name", s"""{"trigger":"/_/$trigger","action":"/_/$action"}""")

  private def statusOf(rule: String): String = send("GET", s"$rules/$rule").string("status")

  test("a trigger has everything it was given, and keeps what a change leaves out"):
    val body =
      """{"parameters":[{"key":"a","value":{"b":1}}],"annotations":[{"key":"feed","value":"/whisk.system/alarms/alarm"}],"name":"x","limits":{}}"""
    val reply = put(s"$triggers/whole", body, overwrite = false).json
    assertEquals(
      reply.mapObject(_.remove("updated")),
      Json.obj(
        "namespace" -> "guest".asJson,
        "name" -> "whole".asJson,
        "version" -> "0.0.1".asJson,
        "publish" -> false.asJson,
        "annotations" -> Json.arr(
          Json.obj("key" -> "feed".asJson, "value" -> "/whisk.system/alarms/alarm".asJson)
        ),
        "parameters" -> Json.arr(Json.obj("key" -> "a".asJson, "value" -> Json.obj("b" -> 1.asJson))),
        "limits" -> Json.obj()
      )
    )
    val updated = reply.hcursor.get[Long]("updated").getOrElse(0L)
    assert((updated - System.currentTimeMillis()).abs < 60_000, "the time is in milliseconds")
    assertEquals(send("GET", s"$triggers/whole/").json, reply)
    val next = put(s"$triggers/whole", """{"annotations":[]}""").json
    assertEquals(next.hcursor.get[String]("version"), Right("0.0.2"))
    assertEquals(next.hcursor.downField("annotations").values.map(_.size), Some(0))
    assertEquals(next.hcursor.get[Json]("parameters"), reply.hcursor.get[Json]("parameters"))
    assertEquals(send("DELETE", s"$triggers/whole").json, next)
    refused(send("GET", s"$triggers/whole"), 404, "does not exist", "'whole'")
    refused(send("DELETE", s"$triggers/whole"), 404, "'whole'")

  test("an empty body is an empty trigger, and an existing one is not replaced unasked"):
    assertEquals(send("PUT", s"$triggers/empty", Some("")).status, 200)
    refused(send("PUT", s"$triggers/empty", Some("{}")), 409, "resource already exists")
    refused(send("PUT", s"$triggers/empty?overwrite=False", Some("{}")), 409, "resource already exists")
    assertEquals(send("PUT", s"$triggers/empty?overwrite=True", Some("{}")).string("version"), "0.0.2")

  test("lists are newest first, brief, paged and counted"):
    action("listed-action")
    Vector("l1", "l2", "l3").foreach: name =>
      nextMoment()
      put(s"$triggers/$name", """{"parameters":[{"key":"a","value":1}]}""")
      rule(s"r$name", name, "listed-action")
    def names(path: String) =
      send("GET", path).json.asArray.toVector.flatten.map(_.hcursor.get[String]("name").toOption.get)
    assertEquals(names(s"$triggers?limit=2"), Vector("l3", "l2"))
    assertEquals(names(s"$rules/?limit=2&skip=1"), Vector("rl2", "rl1"))
    val brief = send("GET", s"$triggers?limit=1").json.asArray.flatMap(_.head.asObject).get.keys.toSet
    assertEquals(brief, Set("namespace", "name", "version", "publish", "annotations", "updated"))
    val listed = send("GET", s"$rules?limit=1").json.asArray.flatMap(_.head.asObject).get
    assert(!listed.contains("status") && listed.contains("trigger"), listed)
    val all = send("GET", s"$triggers?count=true").json.hcursor.get[Int]("triggers").getOrElse(-1)
    assert(all >= 3)
    assertEquals(
      send("GET", s"$triggers?count=true&skip=1").json.hcursor.get[Int]("triggers"),
      Right(all - 1)
    )
    assert(send("GET", s"$rules?count=1").json.hcursor.get[Int]("rules").exists(_ >= 3))
    Vector("limit=201", "limit=-1", "limit=a", "skip=-1", "count=maybe").foreach: query =>
      refused(send("GET", s"$triggers?$query"), 400)
      refused(send("GET", s"$rules?$query"), 400)

  test("a list of many triggers with long annotations stays within bounds"):
    val long = s"""{"annotations":[{"key":"note","value":"${"x" * 60_000}"}]}"""
    (1 to 20).foreach(n => put(s"$triggers/long$n", long))
    val listed = send("GET", s"$triggers?limit=20")
    assertEquals(listed.json.asArray.map(_.size), Some(20))
    assert(listed.body.length < 1_200_000, listed.body.length)
    (1 to 20).foreach(n => send("DELETE", s"$triggers/long$n"))

  test("a rule accepts names as strings and as objects, and shows them as objects"):
    action("ruled")
    put(s"$triggers/t1")
    val wanted = Json.obj("path" -> "guest".asJson, "name" -> "ruled".asJson)
    val bodies = Vector(
      """{"trigger":"/_/t1","action":"/_/ruled"}""",
      """{"trigger":"/guest/t1","action":"/guest/ruled"}""",
      """{"trigger":{"path":"_","name":"t1"},"action":{"path":"guest","name":"ruled"},"status":""}"""
    )
    bodies.zipWithIndex.foreach: (body, n) =>
      val reply = send("PUT", s"$rules/names$n", Some(body))
      assertEquals(reply.status, 200, reply.body)
      assertEquals(reply.json.hcursor.get[Json]("action"), Right(wanted))
      assertEquals(reply.json.hcursor.downField("trigger").get[String]("name"), Right("t1"))
      assertEquals(reply.string("status"), "active")
      assertEquals(send("GET", s"$rules/names$n").json, reply.json)
    val attached = send("GET", s"$triggers/t1").json.hcursor.downField("rules")
    assertEquals(attached.keys.map(_.toSet), Some(Set("guest/names0", "guest/names1", "guest/names2")))
    assertEquals(
      attached.get[Json]("guest/names0"),
      Right(Json.obj("action" -> wanted, "status" -> "active".asJson))
    )

  test("a rule needs an existing trigger and action, in a namespace that is open to it"):
    action("there")
    put(s"$triggers/here")
    def not(body: String, status: Int, words: String*) =
      refused(send("PUT", s"$rules/never", Some(body)), status, words*)
    not("{}", 400, "requires a valid trigger and a valid action")
    not("""{"trigger":"/_/here"}""", 400, "requires")
    not("""{"trigger":"/_/none","action":"/_/there"}""", 400, "'none'")
    not("""{"trigger":"/_/here","action":"/_/none"}""", 400, "'/guest/none'")
    not("""{"trigger":"/_/here","action":"/_/none/there"}""", 400, "'/guest/none/there'")
    not("""{"trigger":"/other/here","action":"/_/there"}""", 403)
    not("""{"trigger":"/_/here","action":"/other/there"}""", 403)
    not("""{"trigger":"/_/p/here","action":"/_/there"}""", 400, "'trigger'")
    Vector("7", "[]", "{}", "\"\"", "\"/\"", "\"/_/a/b/c\"", """{"path":"_"}""", "\"/_/ bad\"").foreach:
      bad =>
        not(s"""{"trigger":$bad,"action":"/_/there"}""", 400, "'trigger'")
        not(s"""{"trigger":"/_/here","action":$bad}""", 400, "'action'")
    refused(send("GET", s"$rules/never"), 404, "'never'")

  test("a rule can be set active and inactive, and other words are refused"):
    action("toggled")
    put(s"$triggers/switch")
    rule("toggle", "switch", "toggled")
    def set(status: String) = send("POST", s"$rules/toggle", Some(status))
    Vector("inactive", "inactive", "active", "active").foreach: word =>
      val reply = set(s"""{"status":"$word"}""")
      assertEquals((reply.status, reply.body), (200, ""))
      assertEquals(statusOf("toggle"), word)
    Vector(
      """{"status":"on"}""",
      """{"status":"Active"}""",
      """{"status":1}""",
      "{}",
      """{"status":null}"""
    ).foreach: body =>
      refused(set(body), 400, "'status'")
    refused(set("[]"), 400)
    refused(set("{"), 400)
    refused(send("POST", s"$rules/nobody", Some("""{"status":"active"}""")), 404, "'nobody'")
    assertEquals(statusOf("toggle"), "active")

  test("the rules of a deleted trigger are inactive and cannot be activated until it exists again"):
    action("left")
    put(s"$triggers/leaving")
    rule("orphan", "leaving", "left")
    assertEquals(send("DELETE", s"$triggers/leaving").status, 200)
    assertEquals(statusOf("orphan"), "inactive")
    refused(send("POST", s"$rules/orphan", Some("""{"status":"active"}""")), 404, "existing triggers")
    put(s"$triggers/leaving")
    assertEquals(statusOf("orphan"), "inactive")
    assertEquals(send("POST", s"$rules/orphan", Some("""{"status":"active"}""")).status, 200)
    assertEquals(statusOf("orphan"), "active")
    val gone = send("DELETE", s"$rules/orphan")
    assertEquals((gone.status, gone.string("status")), (200, "inactive"))
    assertEquals(send("GET", s"$triggers/leaving").json.hcursor.downField("rules").keys.map(_.size), Some(0))

  test("all kinds of entities share one set of names, whichever was first"):
    action("taken")
    put(s"$triggers/taken-too")
    refused(send("PUT", s"$triggers/taken", Some("{}")), 409, "'taken'")
    refused(send("PUT", s"$rules/taken-too", Some("""{"trigger":"/_/taken-too","action":"/_/taken"}""")), 409)
    refused(send("PUT", s"$bursts/taken-too", deployment()), 409, "'taken-too'")

  test("a malformed trigger is refused, and nothing of it is stored"):
    def not(body: String, status: Int, words: String*) =
      refused(send("PUT", s"$triggers/bad", Some(body)), status, words*)
    not("[]", 400)
    not("{", 400)
    not("7", 400)
    not("""{"parameters":{"a":1}}""", 400, "'parameters'")
    not("""{"parameters":[{"value":1}]}""", 400, "'parameters'")
    not("""{"parameters":[7]}""", 400, "'parameters'")
    not("""{"annotations":"x"}""", 400, "'annotations'")
    not("""{"publish":"yes"}""", 400, "'publish'")
    not("""{"version":"1"}""", 400, "'version'")
    not("""{"annotations":[{"key":"feed","value":"a/b/c/d"}]}""", 400, "feed")
    not("""{"annotations":[{"key":"feed","value":7}]}""", 400, "feed")
    not(s"""{"parameters":[{"key":"a","value":"${"x" * 1100000}"}]}""", 413, "'parameters'")
    not("[" * 300 + "]" * 300, 400)
    refused(send("PUT", s"$triggers/bad", Some("{}"), contentType = Some("text/plain")), 415)
    refused(send("PUT", s"$triggers/bad?overwrite=perhaps", Some("{}")), 400, "'overwrite'")
    refused(send("GET", s"$triggers/-a"), 400, "A name")
    refused(send("GET", s"$rules/${"a" * 257}"), 400, "A name")
    refused(send("GET", s"$triggers/bad"), 404)
    refused(send("PATCH", s"$triggers/bad"), 405)

  test("another namespace's triggers and rules are refused"):
    val own = send("PUT", s"$admin/stranger", Some("{}"), caller(admin)).string("auth")
    put(s"$triggers/mine")
    val calls = Vector("GET" -> None, "PUT" -> Some("{}"), "DELETE" -> None, "POST" -> Some("{}"))
    for (method, body) <- calls; path <- Vector("triggers/mine", "rules/mine", "triggers/none") do
      refused(send(method, s"/api/v1/namespaces/guest/$path", body, Some(own)), 403, "another namespace")
    Vector("triggers", "rules").foreach: list =>
      refused(send("GET", s"/api/v1/namespaces/guest/$list", auth = Some(own)), 403)
      refused(send("GET", s"/api/v1/namespaces/guest/$list", auth = None), 401)
    assertEquals(send("GET", triggers, auth = Some(own)).body, "[]")
