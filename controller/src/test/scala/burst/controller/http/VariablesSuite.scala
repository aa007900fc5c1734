package burst.controller.http

import burst.controller.secrets.DefinitionName
import io.circe.Json
import java.nio.file.{Files, Path}

/** Environment variables and secrets of a definition, over the API. */
class VariablesSuite extends HttpSuite:
  private def variables(reply: Reply): (Json, Json) =
    val fields = reply.json.hcursor
    def field(name: String) = fields.get[Json](name).getOrElse(fail(s"no $name in ${reply.body}"))
    (field("environment"), field("secrets"))

  private def parsed(text: String) = io.circe.parser.parse(text).fold(throw _, identity)

  private def shown(name: String, environment: String, secrets: String)(using munit.Location): Unit =
    assertEquals(variables(send("GET", s"$bursts/$name")), (parsed(environment), parsed(secrets)))

  private def put(name: String, more: String) =
    send("PUT", s"$bursts/$name?overwrite=true", deployment(more = more))

  test("variables are shown, secrets only by their names, and neither in lists"):
    deploy("plain")
    shown("plain", "{}", "[]")
    val reply = deploy("having", ""","environment":{"A":"1"},"secrets":{"TOKEN":"hunter2","B":""}""")
    assert(!reply.body.contains("hunter2"))
    assertEquals(variables(reply), (parsed("""{"A":"1"}"""), parsed("""["B","TOKEN"]""")))
    shown("having", """{"A":"1"}""", """["B","TOKEN"]""")
    val all = Seq("", "/having", "/having/versions", "/having/versions/0.0.1").map(path =>
      send("GET", bursts + path).body
    )
    assert(!all.exists(_.contains("hunter2")))
    assert(!all.head.contains("TOKEN"))

  test("a redeploy keeps what it does not name, and null removes a secret"):
    deploy("kept", ""","environment":{"A":"1","B":"2"},"secrets":{"C":"3","D":"4"}""")
    deploy("kept")
    shown("kept", """{"A":"1","B":"2"}""", """["C","D"]""")
    deploy("kept", ""","environment":null,"secrets":null""")
    shown("kept", """{"A":"1","B":"2"}""", """["C","D"]""")
    deploy("kept", ""","environment":{"A":"5"},"secrets":{"D":null,"E":"6","NEVER":null}""")
    shown("kept", """{"A":"5"}""", """["C","E"]""")
    deploy("kept", ""","environment":{"C":"now plain"},"secrets":{}""")
    shown("kept", """{"C":"now plain"}""", """["E"]""")
    deploy("kept", ""","secrets":{"C":"secret again"}""")
    shown("kept", "{}", """["C","E"]""")
    deploy("kept", ""","environment":{}""")
    shown("kept", "{}", """["C","E"]""")

  test("an older version has its own variables and the current secrets"):
    deploy("old", ""","environment":{"A":"1"},"secrets":{"TOKEN":"old","GONE":"x"}""")
    deploy("old", ""","environment":{"A":"2"},"secrets":{"TOKEN":"new","GONE":null}""")
    def environment(body: String) =
      assertEquals(send("POST", s"$bursts/old", Some(body)).status, 202)
      val sealedOnes = service.last.get.getOrElse(fail("not submitted")).environment
      storage.secrets.open(DefinitionName("guest", "old"), sealedOnes).map(_.variables)
    assertEquals(environment("""{"size":1}"""), Right(Map("A" -> "2", "TOKEN" -> "new")))
    assertEquals(environment("""{"size":1,"version":"0.0.1"}"""), Right(Map("A" -> "1", "TOKEN" -> "new")))
    send("POST", s"$bursts/old/rollback", Some("{}"))
    shown("old", """{"A":"1"}""", """["TOKEN"]""")

  test("an invalid variable is refused with its path, and no value is repeated"):
    def not(more: String, status: Int, words: String*) =
      val reply = put("bad", more)
      refused(reply, status, words*)
      assert(!reply.body.contains("hunter2"), reply.body)
    for name <- Seq("1A", "A-B", "", "É", "PATH", "BURST_X", "LD_PRELOAD", "__OW_X", "x" * 129, "A=B") do
      val path = if name.length > 64 then name.take(64) else name
      not(
        s""","environment":{"$name":"hunter2"}""",
        400,
        s"'environment.$path",
        "no name for a variable",
        "128"
      )
      not(s""","secrets":{"$name":"hunter2"}""", 400, s"'secrets.$path")
    not(""","environment":{"A":4711}""", 400, "'environment.A' must be a string")
    not(""","environment":{"A":null}""", 400, "'environment.A'")
    not(""","secrets":{"A":["hunter2"]}""", 400, "'secrets.A' must be a string")
    not(""","secrets":{"A":"hunter2\u0000"}""", 400, "without NUL")
    not(""","environment":["hunter2"]""", 400, "'environment' must be an object")
    not(""","secrets":"hunter2"}""".dropRight(1), 400, "'secrets' must be an object")
    not(""","environment":{"A":"1"},"secrets":{"A":"hunter2"}""", 400, "'A'", "one of them")
    val many = (0 to 100).map(i => s""""V$i":"hunter2"""").mkString(",")
    not(s""","environment":{$many}""", 400, "101 environment variables", "100")
    deploy("large", s""","environment":{"A":"${"x" * 40_000}"}""")
    refused(put("large", s""","secrets":{"B":"${"x" * 40_000}"}"""), 413, "80002 bytes", "65536")
    assertEquals(send("GET", s"$bursts/bad").status, 404)

  test("the controller's files never contain a secret in plain text"):
    val word = s"hunter-${System.nanoTime()}"
    deploy("stored", s""","secrets":{"TOKEN":"$word"}""")
    val files =
      Files.walk(Path.of(config.getString("burst.store.directory"))).filter(Files.isRegularFile(_)).toList
    files.forEach: file =>
      val text = String(Files.readAllBytes(file), "ISO-8859-1")
      assert(!text.contains(word), s"$file")

  test("one variable may use all the bytes allowed, however it is escaped"):
    val most = 64 * 1024
    for (value, text) <- Seq("x" -> "x", "\u0001" -> "\\u0001", "é" -> "\\u00e9") do
      val count = (most - 1) / value.getBytes("UTF-8").length
      deploy("full", s""","environment":{"A":"${text * count}"},"secrets":{"B":null}""")
      val there = storage.definitions.find("guest", "full").map(_.environment.variables)
      assertEquals(there, Some(Map("A" -> value * count)))
    refused(put("full", s""","environment":{"A":"${"x" * most}"}"""), 413, "65537 bytes", "65536")
    val tooMuch = put("full", s""","secrets":{"A":"${"x" * (7 * most)}"}""")
    refused(tooMuch, 413, "'environment' and 'secrets'", "65536")
    val others = put("full", s""","parameters":{"A":"${"x" * most}"}""")
    refused(others, 413, "beside 'exec'")

  test("variables are shown in the order of their names"):
    val names = ('a' to 'z').map(_.toString)
    val reply =
      deploy("ordered", names.reverse.map(n => s""""$n":"1"""").mkString(",\"environment\":{", ",", "}"))
    val shown = reply.json.hcursor.downField("environment").keys
    assertEquals(shown.map(_.toVector), Some(names.toVector))
