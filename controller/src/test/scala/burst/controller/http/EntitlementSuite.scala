package burst.controller.http

import burst.controller.flare.FlareState
import burst.protocol.JsonText

/** Two namespaces, and every call: what one has, the other can neither see nor change. The calls are those of
  * openapi.yaml, so that a new one is checked from the start.
  */
class EntitlementSuite extends HttpSuite:
  private val here = "/api/v1/namespaces/guest"
  private val management = "/api/v1/web/whisk.system/apimgmt"
  private lazy val other = storage.namespaces.create("other").getOrElse(fail("no key"))

  /** The ids of what `guest` owns, for the parameters of paths. */
  private final case class Owned(flare: String, group: String, activation: String):
    def path(template: String): String =
      val named = template
        .replace("{package}/{name}", "tools/inside")
        .replace("packages/{name}", "packages/tools")
        .replace("triggers/{name}", "triggers/event")
        .replace("rules/{name}", "rules/rule")
        .replace("{name}", "mine")
      named
        .replace("{flareId}", flare)
        .replace("{invokerId}", "invoker0")
        .replace("{groupId}", group)
        .replace("{activationId}", activation)
        .replace("{version}", "0.0.1")

  private lazy val owned: Owned =
    def made(method: String, path: String, body: String): Reply =
      val reply = send(method, s"$here/$path", Some(body))
      assert(reply.status < 300, reply.body)
      reply
    val exec = """{"exec":{"kind":"nodejs","code":"function main() {}"}}"""
    deploy("mine")
    made("PUT", "packages/tools", "{}")
    made("PUT", "actions/tools/inside", exec)
    made("PUT", "actions/open", exec.dropRight(1) + ""","annotations":[{"key":"web-export","value":true}]}""")
    made("PUT", "triggers/event", "{}")
    made("PUT", "rules/rule", """{"trigger":"/_/event","action":"/_/mine"}""")
    service.ending = FakeFlareService.ended(FlareState.Succeeded)
    service.program = Some(_ => JsonText("{}"))
    val activation = made("POST", "actions/mine?blocking=true", "{}").string("activationId")
    val flare = made("POST", "bursts/mine", """{"size":1}""").string("flareId")
    val group = made("POST", "groups", """{"definition":"mine","size":1}""").string("groupId")
    val action = """{"name":"open","namespace":"_","backendMethod":"get","backendUrl":"https://h/open"}"""
    val api = s""""gatewayBasePath":"/base","gatewayPath":"/p","gatewayMethod":"get","action":$action"""
    assertEquals(send("POST", s"$management/createApi", Some(s"""{"apidoc":{$api}}""")).status, 200)
    Owned(flare, group, activation)

  private val ofNamespaces =
    ApiDescription.operations.toSeq.sorted.filter((_, path) => path.contains("{namespace}"))

  private def body(method: String) = Option.when(method == "PUT" || method == "POST")("{}")

  /** Everything of `guest`'s that can be read. */
  private def seen(): Seq[(String, Int, String)] =
    val paths = ofNamespaces.collect { case ("GET", path) =>
      owned.path(path).replace("{namespace}", "guest")
    }
    (paths :+ s"$management/getApi").map: path =>
      val reply = send("GET", path)
      // What has not ended shows the time of the request as its end.
      (path, reply.status, reply.body.replaceAll("\"(now|end)\":[0-9]+", ""))

  test("every call on another namespace is 403 and changes nothing"):
    val before = seen()
    for (path, status, body) <- before do assertEquals(status, 200, s"$path: $body")
    for
      (method, template) <- ofNamespaces
      shown <- Seq(other)
    do
      val path = owned.path(template).replace("{namespace}", "guest")
      val reply = send(method, path, body(method), Some(shown))
      // Anybody may list what is published, and nothing is.
      if method == "GET" && template.endsWith("/packages") then assertEquals(reply.body, "[]", path)
      else refused(reply, 403)
    assertEquals(seen(), before)

  test("under one's own namespace, what belongs to another is not found"):
    val before = seen()
    for (method, template) <- ofNamespaces if template.matches(".*(Id}|name}|version}).*") && method != "PUT"
    do
      val path = owned.path(template).replace("{namespace}", "_")
      val sent = if template.endsWith("rules/{name}") then Some("""{"status":"inactive"}""") else body(method)
      val wanted = if template.endsWith("bursts/{name}") then Some("""{"size":1}""") else sent
      refused(send(method, path, if body(method).isEmpty then None else wanted, Some(other)), 404)
    for (method, template) <- ofNamespaces if method == "GET" && !template.contains("}/{") do
      if template.matches(".*/(bursts|flares|groups|actions|packages|triggers|rules|activations)") then
        assertEquals(
          send(method, template.replace("{namespace}", "_"), None, Some(other)).body,
          "[]",
          template
        )
    assertEquals(send("GET", s"$management/getApi", None, Some(other)).body, """{"apis":[]}""")
    refused(send("DELETE", s"$management/deleteApi?basepath=/base", None, Some(other)), 404)
    assertEquals(seen(), before)

  test("without valid credentials, every call that is not for anybody is 401"):
    val open = Set("/", "/ping", "/ready", "/metrics", "/api/v1", "/api/v1/openapi.yaml", "/api/v1/api-docs")
    val before = seen()
    for
      (method, template) <- ApiDescription.operations.toSeq.sorted
      if !open(template) && !template.contains("{owner}") && !template.contains("{tenant}")
      shown <- Seq(None, Some(s"${credentials}0"), Some(other.reverse))
    do
      val path = owned.path(template).replace("{namespace}", "guest")
      refused(send(method, path, body(method), shown), 401)
    assertEquals(seen(), before)

  test("a namespace's credentials cannot administer"):
    for (method, template) <- ApiDescription.operations.toSeq.sorted if template.startsWith(administration) do
      refused(send(method, owned.path(template), body(method)), 401)

  test("to strangers, an action that is not exported looks like one that does not exist"):
    def asked(path: String) = send("GET", s"/api/v1/web/$path", None, None)
    assertEquals(asked("guest/default/open").status < 500, true)
    val none = asked("guest/default/none").error
    for path <- Seq("guest/default/mine", "guest/tools/inside", "nobody/default/open", "guest/none/open") do
      refused(asked(path), 404)
      assertEquals(asked(path).error, none, path)
