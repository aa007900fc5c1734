package burst.controller.http

import burst.controller.deploy.Tars.{entry, tgz}
import burst.controller.flare.FlareState
import burst.controller.http.FakeFlareService.ended
import burst.protocol.JsonText

/** The price of small bodies whose inputs grow by the parameters under them. */
class GrowthPriceSuite extends HttpSuite:
  override def settings = """
    burst.http.flare-bodies-rate = 1B
    burst.http.flare-bodies-burst = 1MiB
    """

  test("inputs that grow have the price of a body of their final size"):
    deploy("padded", s""","parameters":{"pad":"${"x" * 2000}"}""")
    def many() =
      send("POST", s"$bursts/padded", Some(s"""{"params":[${Vector.fill(200)("{}").mkString(",")}]}"""))
    val answers = Vector.fill(10)(many().status)
    // One burst, and another in advance, of bodies of 400 KB each.
    assertEquals(answers, Vector.fill(5)(202) ++ Vector.fill(5)(503))
    assertEquals(send("POST", s"$bursts/padded", Some("""{"params":[{},{}]}""")).status, 202)

/** The same for calls of actions, each of which gets its action's parameters. */
class ParametersPriceSuite extends HttpSuite:
  override def settings = """
    burst.http.flare-bodies-rate = 1B
    burst.http.flare-bodies-burst = 1MiB
    burst.http.web-bodies-rate = 1B
    burst.http.web-bodies-burst = 1MiB
    """

  private val here = "/api/v1/namespaces/_"

  /** Checks that one burst and another in advance pass, of 200 KB each, and any number of light calls. */
  private def priced(status: Int, call: String => Reply)(using munit.Location): Unit =
    assertEquals(Vector.fill(15)(call("padded").status), Vector.fill(10)(status) ++ Vector.fill(5)(503))
    assertEquals(Vector.fill(200)(call("light").status).distinct, Vector(status))

  private def put(path: String, body: String, auth: String)(using munit.Location): Unit =
    assertEquals(send("PUT", s"$here/$path", Some(body), Some(auth)).status, 200)

  private def actions(auth: String)(using munit.Location): Unit =
    Seq("padded" -> 200_000, "medium" -> 60_000, "light" -> 16_000).foreach: (name, length) =>
      put(
        s"actions/$name",
        s"""{"exec":{"kind":"nodejs","code":"function main() {}"},
          "parameters":[{"key":"pad","value":"${"x" * length}"}],
          "annotations":[{"key":"web-export","value":true}]}""",
        auth
      )

  test("calls, strangers' calls included, have the price of the size they grow to"):
    actions(credentials)
    service.ending = ended(FlareState.Succeeded)
    service.program = Some(_ => JsonText("""{"body":"x"}"""))
    priced(202, name => send("POST", s"$here/actions/$name", Some("{}")))
    priced(200, name => send("GET", s"/api/v1/web/guest/default/$name.http", auth = None))

  test("many bodies that grow a little use up the budget of large ones, and small bodies never wait"):
    val own = send("PUT", s"$admin/growing", Some("{}"), caller(admin)).string("auth")
    actions(own)
    service.ending = ended(FlareState.Succeeded)
    def call(name: String) = send("POST", s"$here/actions/$name", Some("{}"), Some(own)).status
    // Of 60 KB each: one burst of small bodies, then one of large bodies, and another in advance.
    assertEquals(Vector.fill(60)(call("medium")), Vector.fill(17 + 34)(202) ++ Vector.fill(9)(503))
    assertEquals(Vector.fill(200)(call("light")).distinct, Vector(202))

  test("fires have the price of the parameters of everything that they begin"):
    val own = send("PUT", s"$admin/firing", Some("{}"), caller(admin)).string("auth")
    actions(own)
    Seq("padded" -> 150_000, "light" -> 0).foreach: (name, length) =>
      put(s"triggers/on-$name", s"""{"parameters":[{"key":"more","value":"${"x" * length}"}]}""", own)
    put("actions/half", """{"exec":{"kind":"nodejs","code":"function main() {}"}}""", own)
    put("rules/one", """{"trigger":"/_/on-padded","action":"/_/half"}""", own)
    put("rules/two", """{"trigger":"/_/on-light","action":"/_/light"}""", own)
    assertEquals(send("POST", s"$here/triggers/on-padded", Some("{}"), Some(own)).status, 202)
    put("rules/three", """{"trigger":"/_/on-padded","action":"/_/padded"}""", own)
    // One fire of 150 KB, and then fires of 500 KB each.
    def fire(name: String) = send("POST", s"$here/triggers/on-$name", Some("{}"), Some(own)).status
    assertEquals(Vector.fill(8)(fire("padded")), Vector.fill(3)(202) ++ Vector.fill(5)(503))
    assertEquals(Vector.fill(200)(fire("light")).distinct, Vector(202))

/** The same for tars, which are kept as zips. */
class TarPriceSuite extends HttpSuite:
  override def settings = """
    burst.http.deploy-bodies-rate = 1B
    burst.http.deploy-bodies-burst = 4MiB
    """

  test("a tar has the price of a body of its zip's size"):
    val noise = scala.util.Random(7).nextBytes(20_000)
    val tar = tgz(entry("index.js") +: Vector.tabulate(100)(i => entry(s"f$i", noise))*)
    val exec = s"""{"exec":{"kind":"nodejs","code":"${code(tar)}"}}"""
    assert(exec.length < 65536, exec.length)
    def deployed() = send("PUT", s"$bursts/alike?overwrite=true", Some(exec)).status
    // Each becomes a zip of 2 MB, for which 3 MB are reserved as it grows: one burst, and another in advance.
    assertEquals(Vector.fill(8)(deployed()), Vector.fill(3)(200) ++ Vector.fill(5)(503))
