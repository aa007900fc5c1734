package burst.controller.http

import io.circe.Json

class SequencesSuite extends EntitySuite:
  private def refusedSequence(name: String, components: String*)(status: Int, words: String*)(using
      munit.Location
  ): Unit =
    refused(send("PUT", s"$here/actions/$name?overwrite=true", sequence(components*)), status, words*)

  override def beforeAll(): Unit =
    super.beforeAll()
    for name <- Seq("a", "b") do store(s"actions/$name", source("python", python))

  test("components are resolved, whichever way they are called"):
    store("packages/p", Some("{}"))
    store("actions/p/c", source("python", python))
    val stored = store("actions/whole", sequence("/_/a", "b", "/guest/p/c", "p/c"))
    assertEquals(
      at(stored, "exec", "components"),
      Json.arr(Seq("/guest/a", "/guest/b", "/guest/p/c", "/guest/p/c").map(Json.fromString)*)
    )
    assertEquals(pair(stored, "annotations", "exec"), Some(Json.fromString("sequence")))
    assertEquals(send("GET", s"$here/actions/whole").json, stored.json)

  test("a sequence of nothing, of what is not there, or of itself is refused"):
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

  test("a sequence has fifty actions at most, with those of its sequences"):
    store("actions/ten", sequence(Seq.fill(10)("/_/a")*))
    store("actions/fifty", sequence(Seq.fill(5)("/_/ten")*))
    refusedSequence("more", "/_/fifty", "/_/a")(400, "50")
    refusedSequence("more", Seq.fill(51)("/_/a")*)(400, "50")
    store("actions/deep0", sequence("/_/a"))
    for i <- 1 to 48 do store(s"actions/deep$i", sequence(s"/_/deep${i - 1}"))
    store("actions/deep49", sequence("/_/deep48"))
    refusedSequence("deep50", "/_/deep49")(400, "50")
