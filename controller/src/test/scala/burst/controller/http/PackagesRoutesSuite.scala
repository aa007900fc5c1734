package burst.controller.http

import burst.controller.action.{ActionName, ActionProblem, StoredActions}
import burst.controller.store.Identity
import io.circe.Json
import io.circe.parser.parse

class PackagesRoutesSuite extends EntitySuite:
  private def action(path: String, parameters: String = "[]", auth: String = credentials) =
    store(s"actions/$path", source("python", python, s""","parameters":$parameters"""), auth)

  test("a package is shown in OpenWhisk's form, with its actions and feeds"):
    val body = """{"publish":true,"parameters":[{"key":"a","value":1}],
      "annotations":[{"key":"description","value":"d"}],"name":"x","unknown":1}"""
    val created = store("packages/shape", Some(body))
    val expected = """{"namespace":"guest","name":"shape","version":"0.0.1","publish":true,"binding":{},
      "annotations":[{"key":"description","value":"d"}],"parameters":[{"key":"a","value":1}]}"""
    assertEquals(Right(created.json.mapObject(_.remove("updated"))), parse(expected))
    action("shape/one")
    store("actions/shape/two", source("python", python, ""","annotations":[{"key":"feed","value":true}]"""))
    val whole = send("GET", s"$here/packages/shape").json.hcursor
    assertEquals(whole.downField("actions").downArray.get[String]("name"), Right("one"))
    assertEquals(whole.downField("feeds").downArray.get[String]("name"), Right("two"))
    assertEquals(
      whole.downField("actions").downArray.keys.map(_.toSet),
      Some(Set("name", "version", "annotations"))
    )
    val listed = send("GET", s"$here/packages").json.hcursor.downArray
    assertEquals(listed.get[Boolean]("binding"), Right(false))
    assertEquals(listed.keys.exists(_.exists(_ == "parameters")), false)

  test("an update keeps the fields it does not name, and replaces parameters and annotations whole"):
    store(
      "packages/kept",
      Some("""{"parameters":[{"key":"a","value":1}],"annotations":[{"key":"x","value":1}]}""")
    )
    val second = store("packages/kept", Some("""{"publish":true,"annotations":[{"key":"y","value":1}]}"""))
    assertEquals(second.string("version"), "0.0.2")
    assertEquals(pair(second, "parameters", "a"), Some(Json.fromInt(1)))
    assertEquals(pair(second, "annotations", "x"), None)
    assertEquals(store("packages/kept", Some("""{"version":"1.2.3"}""")).string("version"), "1.2.3")
    refused(send("PUT", s"$here/packages/kept", Some("{}")), 409, "resource already exists")

  test("parameters are merged: package, binding, action, each over those before"):
    store(
      "packages/base",
      Some("""{"publish":true,"parameters":[{"key":"p","value":0},{"key":"b","value":0},{"key":"a","value":0},
        {"key":"i","value":0,"init":true}]}""")
    )
    action("base/one", """[{"key":"a","value":2},{"key":"i","value":2}]""")
    val binding = """{"binding":{"namespace":"guest","name":"base"},"parameters":[{"key":"b","value":1},
      {"key":"a","value":1}]}"""
    val bound = store("packages/mine", Some(binding), other)
    assertEquals(at(bound, "binding", "name").asString, Some("base"))
    assert(pair(bound, "annotations", "binding").isDefined, bound.body)
    val found = send("GET", s"$here/actions/mine/one?code=false", auth = Some(other))
    assertEquals(found.string("namespace"), "guest/base")
    assertEquals(at(found, "binding", "namespace").asString, Some("guest"))
    for (name, value) <- Seq("p" -> 0, "b" -> 1, "a" -> 2, "i" -> 2) do
      assertEquals(pair(found, "parameters", name), Some(Json.fromInt(value)), name)
    assertEquals(pair(send("GET", s"$here/actions/base/one"), "parameters", "b"), Some(Json.fromInt(0)))
    val listed = send("GET", s"$here/actions/mine/", auth = Some(other)).json.hcursor.downArray
    assertEquals(listed.get[String]("namespace"), Right("guest/base"))
    val whole = send("GET", s"$here/packages/mine", auth = Some(other))
    assertEquals(pair(whole, "parameters", "p"), Some(Json.fromInt(0)))
    assertEquals(at(whole, "actions").asArray.map(_.size), Some(1))
    val actions = StoredActions(storage.definitions, storage.actionPackages)
    val limits = storage.namespaces.limits("other").getOrElse(fail("no namespace"))
    val resolved = actions.find(Identity("other", limits), ActionName("other", Some("mine"), "one"))
    assertEquals(resolved.map(_.target.qualified), Right("/guest/base/one"))
    assertEquals(resolved.map(_.parameters("i")), Right(Some(Json.fromInt(2))))
    assertEquals(resolved.map(_.initParameters.size), Right(0))
    // Once the package is no longer published, a binding of it opens nothing.
    store("packages/base", Some("""{"publish":false}"""))
    assertEquals(
      actions.find(Identity("other", limits), ActionName("other", Some("mine"), "one")),
      Left(ActionProblem.NotEntitled)
    )
    refused(send("GET", s"$here/actions/mine/one", auth = Some(other)), 403)
    store("packages/base", Some("""{"publish":true}"""))

  test("a binding needs an existing package that its owner may use and that is no binding itself"):
    store("packages/open", Some("""{"publish":true}"""))
    store("packages/closed", Some("{}"))
    action("plain")
    def bind(name: String, target: String, auth: String = credentials, query: String = "") =
      send("PUT", s"$here/packages/$name$query", Some(s"""{"binding":$target}"""), Some(auth))
    def of(name: String, namespace: String = "guest") = s"""{"namespace":"$namespace","name":"$name"}"""
    assertEquals(bind("bound", of("closed", "_")).status, 200)
    refused(bind("b1", of("none")), 400, "/guest/none")
    refused(bind("b1", of("bound")), 400, "bind that one")
    refused(bind("b1", of("plain")), 409, "no package")
    refused(bind("b1", of("-")), 400, "'binding'")
    refused(bind("b1", """{"namespace":"guest"}"""), 400, "'binding.name'")
    refused(bind("b1", of("closed"), other), 403)
    refused(bind("b1", of("none"), other), 403)
    refused(bind("closed", of("open"), query = "?overwrite=true"), 409, "cannot become a binding")
    assertEquals(bind("bound", of("open"), query = "?overwrite=true").status, 200)
    refused(send("PUT", s"$here/actions/bound/x", source("python", python)), 400, "bound to another")
    refused(send("DELETE", s"$here/actions/bound/x"), 400, "bound to another")
    refused(send("PUT", s"$here/actions/none/x", source("python", python)), 404, "package 'none'")
    refused(send("PUT", s"$here/packages/default", Some("{}")), 400, "'default'")
    refused(send("PUT", s"$here/packages/default?overwrite=true", Some("{}")), 400)

  test("a package with actions is deleted only by force, together with its actions"):
    store("packages/full", Some("{}"))
    action("full/one")
    action("full/two")
    store("packages/full2", Some("{}"))
    action("full2/one")
    refused(send("DELETE", s"$here/packages/full"), 409, "force=true")
    assertEquals(send("DELETE", s"$here/packages/full?force=true").string("name"), "full")
    refused(send("GET", s"$here/packages/full"), 404)
    refused(send("GET", s"$here/actions/full/one"), 404)
    assertEquals(send("GET", s"$here/actions/full2/one").status, 200)
    refused(send("DELETE", s"$here/packages/full"), 404)

  test("actions and packages share one set of names"):
    action("shared")
    refused(send("PUT", s"$here/packages/shared?overwrite=true", Some("{}")), 409, "name of an action")
    store("packages/sharedp", Some("{}"))
    refused(send("PUT", s"$here/actions/sharedp", source("python", python)), 409, "name of a package")
    refused(send("PUT", s"$bursts/sharedp?overwrite=true", deployment()), 409, "name of a package")

  test("lists of packages are paged and counted, and show only published ones of another namespace"):
    nextMoment()
    store("packages/lo", Some("""{"publish":true}"""))
    val all = names(send("GET", s"$here/packages?limit=0"))
    assertEquals(all.head, "lo")
    assertEquals(names(send("GET", s"$here/packages?limit=1&skip=1")), all.slice(1, 2))
    assertEquals(send("GET", s"$here/packages/?count=true").body, s"""{"packages":${all.size}}""")
    val theirs = names(send("GET", s"$guest/packages?public=true", auth = Some(other)))
    assert(theirs.contains("lo") && !theirs.contains("closed"), theirs)
    refused(send("GET", s"$here/packages?limit=-1"), 400, "'limit'")

  test("a list shows a limited amount of annotations, but always those that tell what an entity is"):
    store("packages/long", Some("{}"))
    def annotations(text: String) =
      s""","annotations":[{"key":"feed","value":true},{"key":"text","value":"$text"}]"""
    for i <- 1 to 20 do
      store(s"actions/long/a$i", source("python", python, annotations("x" * 60_000)))
      store(s"packages/long$i", Some(s"{${annotations("x" * 60_000).drop(1)}}"))
    def shown(json: Json, key: String) = json.asArray.toSeq.flatten.count: entity =>
      entity.hcursor.get[Vector[Json]](
        "annotations"
      ).exists(_.exists(_.hcursor.get[String]("key").contains(key)))
    for path <- Seq("actions", "actions/long/", "packages") do
      val listed = send("GET", s"$here/$path?limit=20").json
      assertEquals((shown(listed, "feed"), shown(listed, "text")), (20, 17), path)
    val whole = at(send("GET", s"$here/packages/long"), "feeds")
    assertEquals((whole.asArray.map(_.size), shown(whole, "text")), (Some(20), 17))
    assert(pair(send("GET", s"$here/actions/long/a1"), "annotations", "text").isDefined)

  test("a refresh does nothing"):
    assertEquals(
      send("POST", s"$here/packages/refresh").body,
      """{"added":[],"updated":[],"deleted":[]}"""
    )

  test("what belongs to another namespace is 403, except for reading what is published"):
    store("packages/pub", Some("""{"publish":true}"""))
    store("packages/priv", Some("{}"))
    for path <- Seq("pub/one", "priv/one", "alone") do action(path)
    def theirs(method: String, path: String, body: Option[String] = None) =
      send(method, s"$guest/$path", body, Some(other))
    for path <- Seq("packages/pub", "actions/pub/one", "actions/pub/") do
      assertEquals(theirs("GET", path).status, 200, path)
    val closed = Seq("packages/priv", "packages/none", "actions/alone", "actions/none", "actions/priv/one") ++
      Seq("actions/none/one", "actions/priv/", "actions/none/", "actions", "limits")
    for path <- closed do refused(theirs("GET", path), 403)
    for path <- Seq("packages/pub", "packages/none", "actions/pub/one", "actions/alone", "actions/none") do
      refused(theirs("PUT", s"$path?overwrite=true", source("python", python)), 403)
      refused(theirs("DELETE", path), 403)
    refused(theirs("GET", "actions/pub/none"), 404)

  test("a namespace's packages are limited in number and size"):
    val small = send(
      "PUT",
      s"$admin/small",
      Some("""{"limits":{"definitions":1,"definitionsSize":100}}"""),
      caller(admin)
    ).string("auth")
    def put(name: String, body: String) =
      send("PUT", s"$here/packages/$name?overwrite=true", Some(body), Some(small))
    refused(put("one", s"""{"parameters":[{"key":"a","value":"${"x" * 100}"}]}"""), 413, "100")
    assertEquals(put("one", "{}").status, 200)
    refused(put("two", "{}"), 413, "1 packages")
