package burst.controller.http

import io.circe.syntax.*
import io.circe.{Json, JsonObject}

class SequencesSuite extends EntitySuite:
  private def refusedSequence(name: String, components: String*)(status: Int, words: String*)(using
      munit.Location
  ): Unit =
    refused(send("PUT", s"$here/actions/$name?overwrite=true", sequence(components*)), status, words*)

  override def beforeAll(): Unit =
    super.beforeAll()
    for name <- Seq("a", "b") do store(s"actions/$name", source("python", python))

  test("components are resolved, whichever way they are named"):
    store("packages/p", Some("{}"))
    store("actions/p/c", source("python", python))
    val stored = store("actions/whole", sequence("/_/a", "b", "/guest/p/c", "p/c"))
    assertEquals(
      at(stored, "exec", "components"),
      Json.arr(Seq("/guest/a", "/guest/b", "/guest/p/c", "/guest/p/c").map(Json.fromString)*)
    )
    assertEquals(pair(stored, "annotations", "exec"), Some(Json.fromString("sequence")))
    assertEquals(send("GET", s"$here/actions/whole").json, stored.json)

  test("a sequence without components, with missing ones, or with itself is refused"):
    refusedSequence("none")(400, "at least one")
    refusedSequence("strange", "/_/a", "/_/none")(400, "'/guest/none'")
    refusedSequence("strange", "/_/p/none")(400, "does not exist")
    refusedSequence("strange", "//")(400, "components")
    refusedSequence("strange", "/else/a")(403)
    refusedSequence("strange", "/_/strange")(400, "itself")
    val broken = """{"exec":{"kind":"sequence","components":"a"}}"""
    refused(send("PUT", s"$here/actions/strange", Some(broken)), 400, "'exec.components'")
    store("actions/outer", sequence("/_/a"))
    store("actions/outermost", sequence("/_/b", "/_/outer"))
    refusedSequence("outer", "/_/a", "/_/outermost")(400, "itself")
    store("packages/alias", Some("""{"publish":true}"""))
    store("actions/alias/loop", sequence("/_/a"))
    store("packages/bound", Some("""{"binding":{"namespace":"_","name":"alias"}}"""))
    refusedSequence("alias/loop", "/_/bound/loop")(400, "itself")

  test("a sequence has at most fifty actions, including those of its sequences"):
    store("actions/ten", sequence(Seq.fill(10)("/_/a")*))
    store("actions/fifty", sequence(Seq.fill(5)("/_/ten")*))
    refusedSequence("more", "/_/fifty", "/_/a")(400, "50")
    refusedSequence("more", Seq.fill(51)("/_/a")*)(400, "50")
    store("actions/deep0", sequence("/_/a"))
    for i <- 1 to 48 do store(s"actions/deep$i", sequence(s"/_/deep${i - 1}"))
    store("actions/deep49", sequence("/_/deep48"))
    refusedSequence("deep50", "/_/deep49")(400, "50")

  /** Checks that a sequence's actions are its only parameter. */
  private def hasActionsAlone(name: String, actions: String*)(using munit.Location): Unit =
    val pair = Json.obj("key" -> "_actions".asJson, "value" -> actions.asJson)
    for query <- Seq("", "?code=false") do
      assertEquals(at(send("GET", s"$here/actions/$name$query"), "parameters"), Json.arr(pair))

  test("a sequence shows its actions as a parameter, and has no others"):
    val parameters = """"parameters":[{"key":"p","value":1},{"key":"I","value":2,"init":true}]"""
    val body = sequence("/_/a", "b").map(text => s"${text.dropRight(1)},$parameters}")
    val created = store("actions/shown", body)
    assertEquals(
      pair(created, "parameters", "_actions"),
      Some(Json.arr("/guest/a".asJson, "/guest/b".asJson))
    )
    hasActionsAlone("shown", "/guest/a", "/guest/b")
    store("actions/shown", Some(s"{$parameters}"))
    hasActionsAlone("shown", "/guest/a", "/guest/b")
    store("actions/shown", sequence("/_/b"))
    hasActionsAlone("shown", "/guest/b")

  test("the parameters of a sequence do not reappear when it becomes a program"):
    val parameters = """"parameters":[{"key":"p","value":1},{"key":"I","value":2,"init":true}]"""
    val limits = storage.namespaces.limits("guest").getOrElse(fail("no namespace"))
    // As earlier versions stored it.
    def old(name: String): Unit =
      store(s"actions/$name", sequence("/_/a"))
      val stored = storage.definitions.edit("guest", name, None, limits): there =>
        val before = there.getOrElse(fail("the definition is missing"))
        val action = before.action.copy(initParameters = Set("I"))
        Right(before.copy(parameters = JsonObject("p" -> 1.asJson, "I" -> 2.asJson), action = action))
      assert(stored.isRight, stored)
      hasActionsAlone(name, "/guest/a")
    old("turned")
    assertEquals(at(store("actions/turned", source("python", python)), "parameters"), Json.arr())
    old("deployed")
    deploy("deployed")
    assertEquals(at(send("GET", s"$here/actions/deployed?code=false"), "parameters"), Json.arr())
    store("actions/back", source("python", python, s",$parameters"))
    store("actions/back", sequence("/_/a"))
    assertEquals(at(store("actions/back", source("python", python)), "parameters"), Json.arr())
    old("anew")
    assertEquals(
      pair(store("actions/anew", source("python", python, s",$parameters")), "parameters", "p"),
      Some(1.asJson)
    )

  test("a sequence with a component that its caller may not invoke does not begin, even if nested"):
    store("packages/lent", Some("""{"publish":true}"""), other)
    store("actions/lent/one", source("python", python), other)
    store("actions/missing", source("python", python))
    store("actions/borrows", sequence("/_/a", "/other/lent/one"))
    store("actions/nests", sequence("/_/missing", "/_/borrows"))
    store("actions/misses", sequence("/_/missing"))
    send("DELETE", s"$here/actions/missing")
    def call(name: String) = send("POST", s"$here/actions/$name", Some("{}"))
    store("packages/lent", Some("""{"publish":false}"""), other)
    for name <- Seq("borrows", "nests") do
      val reply = call(name)
      refused(reply, 403, "component '/other/lent/one'")
      assertEquals(reply.headers.get("x-openwhisk-activation-id"), None)
      assertEquals(send("GET", s"$here/activations?name=$name&docs=true").body, "[]")
    assertEquals(service.last.get, None)
    // A component that is merely missing is noticed when its turn comes.
    assertEquals(call("misses").status, 202)
    store("packages/lent", Some("""{"publish":true}"""), other)
    assertEquals(call("borrows").status, 202)
