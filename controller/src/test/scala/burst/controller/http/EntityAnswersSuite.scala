package burst.controller.http

/** Replies to OpenWhisk's clients if what they name is not what they take it for. */
class EntityAnswersSuite extends EntitySuite:
  private def action(path: String, auth: String = credentials): Reply =
    store(s"actions/$path", source("python", python), auth)

  test("a name of another collection is 409, an unknown one 404, and neither call changes anything"):
    action("an-action")
    store("packages/a-package", Some("{}"))
    store("triggers/a-trigger", Some("{}"))
    store("rules/a-rule", Some("""{"trigger":"/_/a-trigger","action":"/_/an-action"}"""))
    val held =
      Seq("actions" -> "an-action", "packages" -> "a-package", "triggers" -> "a-trigger", "rules" -> "a-rule")
    val calls = Seq("GET" -> None, "DELETE" -> None, "POST" -> Some("""{"status":"active"}"""))
    for
      (collection, own) <- held
      (method, body) <- calls if method != "POST" || collection != "packages"
      (_, name) <- held
    do
      val path = s"$here/$collection"
      if name != own then
        refused(send(method, s"$path/$name", body), 409, "exists but is not in this collection", s"'$name'")
      refused(send(method, s"$path/nothing", body), 404, "does not exist", "'nothing'")
      refused(send(method, s"$guest/$collection/nothing", body, Some(other)), 403)
      refused(send(method, s"$guest/$collection/$name-no", body, Some(other)), 403)
    refused(send("POST", s"$here/actions/a-trigger?burst=true", Some("""{"value":[1]}""")), 409, "a trigger")
    for name <- Seq("an-action", "a-trigger", "a-rule") do
      refused(send("GET", s"$here/actions/$name/"), 409, s"'$name'")
      refused(send("GET", s"$here/actions/$name/x"), 409, s"'$name'")
      refused(send("POST", s"$here/actions/$name/x", Some("{}")), 409, s"'$name'")
      refused(send("DELETE", s"$here/actions/$name/x"), 409, s"'$name'")
      refused(send("PUT", s"$here/actions/$name/x", source("python", python)), 409, s"'$name'")
    held.foreach((collection, own) => assertEquals(send("GET", s"$here/$collection/$own").status, 200))

  test("a binding is 404 if its own namespace's package was deleted, and 403 if another's is closed"):
    store("packages/base", Some("{}"))
    store("packages/base-too", Some("""{"publish":true}"""))
    action("base-too/one")
    store("packages/mine", Some("""{"binding":{"namespace":"_","name":"base"}}"""))
    val theirs = Some("""{"binding":{"namespace":"guest","name":"base-too"}}""")
    store("packages/theirs", theirs, other)
    def ask(path: String, auth: String) = send("GET", s"$here/$path", auth = Some(auth))
    assertEquals(ask("packages/mine", credentials).status, 200)
    assertEquals(names(ask("actions/theirs/", other)), Vector("one"))
    send("DELETE", s"$here/packages/base")
    store("packages/base-too", Some("""{"publish":false}"""))
    for path <- Seq("packages/mine", "actions/mine/", "actions/mine/one") do
      refused(ask(path, credentials), 404, "package 'base'")
    for path <- Seq("packages/theirs", "actions/theirs/", "actions/theirs/one") do
      refused(ask(path, other), 403)
    send("DELETE", s"$here/packages/base-too?force=true")
    refused(ask("packages/theirs", other), 403)
    assertEquals(send("DELETE", s"$here/packages/mine").status, 200)

  test("activations are found with or without a slash before the name, and an empty name finds all"):
    action("ruled")
    store("triggers/fired", Some("{}"))
    store("rules/fires", Some("""{"trigger":"/_/fired","action":"/_/ruled"}"""))
    val id = send("POST", s"$here/triggers/fired", Some("{}")).string("activationId")
    def found(query: String) = names(send("GET", s"$here/activations?$query"))
    assertEquals(id.length, 32)
    for query <- Seq("name=fired", "name=/fired", "name=%2Ffired") do
      assertEquals(found(query), Vector("fired"), query)
    for query <- Seq("name=", "name=/") do assert(found(query).contains("fired"), query)
    assertEquals(found("name=/none"), Vector.empty)
    for query <- Seq("name=//fired", "name=/a/b/c", "name=fired/") do
      refused(send("GET", s"$here/activations?$query"), 400, "A name")

  test("a feed's name may leave out namespace and package, and is checked only on creation"):
    def put(name: String, feed: String) =
      send(
        "PUT",
        s"$here/triggers/$name?overwrite=true",
        Some(s"""{"annotations":[{"key":"feed","value":$feed}]}""")
      )
    val feeds = Seq("/ns/package/name", "ns/package/name", "ns/name", "/ns/name", "name", "/name")
    for (feed, n) <- feeds.zipWithIndex do
      val stored = put(s"fed$n", s""""$feed"""")
      assertEquals(
        (stored.status, pair(stored, "annotations", "feed").flatMap(_.asString)),
        (200, Some(feed))
      )
    for feed <- Seq("\"a/b/c/d\"", "\"\"", "\"a//b\"", "\"-a\"", "7", "null") do
      refused(put("unfed", feed), 400, "'annotations.feed'")
      assertEquals(put("fed0", feed).status, 200, feed)
    refused(send("GET", s"$here/triggers/unfed"), 404)

  test(
    "an init parameter becomes a variable whatever its name, and is refused if the platform reserves the name"
  ):
    def parameters(name: String) = s""""parameters":[{"key":"$name","value":"v","init":true}]"""
    for name <- Seq("my-var", "a.b", "with space", "é", "1st", "x" * 200) do
      store("actions/started", source("python", python, s",${parameters(name)}"))
      assertEquals(send("POST", s"$here/actions/started", Some("{}")).status, 202)
      val request = service.last.get.getOrElse(fail("nothing was submitted"))
      assertEquals(request.environment.variables, Map(name -> "v"))
    for name <- Seq("PATH", "LD_PRELOAD", "BURST_X", "__OW_API_KEY", "a=b", "", "a\\u0000b") do
      refused(
        send("PUT", s"$here/actions/unfit", source("python", python, s",${parameters(name)}")),
        400,
        "'init'"
      )
      refused(send("PUT", s"$here/packages/unfit", Some(s"{${parameters(name)}}")), 400, "'init'", "PATH")
      val input = parameters(name).replace(""","init":true""", "")
      store("actions/input", source("python", python, s",$input"))
    val nul = "\"a\\u0000b\""
    def of(value: String) = s""""parameters":[{"key":"v","value":$value,"init":true}]"""
    refused(
      send("PUT", s"$here/actions/unfit", source("python", python, s",${of(nul)}")),
      400,
      "'v'",
      "without NUL"
    )
    refused(send("PUT", s"$here/packages/unfit", Some(s"{${of(nul)}}")), 400, "'v'", "without NUL")
    // A value that is not a string is passed on as JSON, in which a NUL is escaped.
    store("actions/fit", source("python", python, s",${of(s"[$nul]")}"))
    refused(send("GET", s"$here/actions/unfit"), 404)
    refused(send("GET", s"$here/packages/unfit"), 404)
