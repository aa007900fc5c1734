package burst.controller.builtin

import burst.protocol.Origin
import burst.controller.action.{ActionName, Invocation, RunResult}
import burst.controller.firing.FakeActions
import burst.controller.store.{Identity, Samples}
import io.circe.syntax.*
import io.circe.{parser, Json}
import java.time.Instant
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class UtilsSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val utils = Utils.all("https://burst.example.org", () => Instant.parse("2030-01-01T00:00:00.1234Z"))

  private def json(text: String): Json = parser.parse(text).fold(throw _, identity)

  private def run(name: String, payload: String): Json =
    val action = FakeActions.action(ActionName("whisk.system", Some("utils"), name))
    val call = Invocation(Identity("guest", Samples.limits), action, json(payload), Origin("t"))
    Await.result(utils(name).run(call), 60.seconds)

  private def gives(name: String, payload: String, result: String)(using munit.Location): Unit =
    assertEquals(run(name, payload), json(result))

  private def fails(name: String, payload: String, words: String)(using munit.Location): Unit =
    val error = run(name, payload).hcursor.get[String]("error").getOrElse("")
    assert(error.contains(words), error)

  test("echo returns what it received, arrays included"):
    gives("echo", """{"payload":"a","b":[1]}""", """{"payload":"a","b":[1]}""")
    gives("echo", "{}", "{}")
    gives("echo", "[1,2]", "[1,2]")

  test("cat joins lines"):
    gives("cat", """{"lines":["a",4,"b"],"c":1}""", """{"lines":["a",4,"b"],"payload":"a\n4\nb"}""")
    gives("cat", "{}", """{"lines":[],"payload":""}""")
    fails("cat", """{"lines":7}""", "lines")
    fails("cat", "[1]", "object")

  test("sort compares elements as text, as JavaScript does"):
    gives("sort", """{"lines":["b","a","B"]}""", """{"lines":["B","a","b"],"length":3}""")
    gives("sort", """{"lines":[4,2,30]}""", """{"lines":[2,30,4],"length":3}""")

  test("head returns the first elements, one by default"):
    gives("head", """{"lines":[4,2,3],"num":2}""", """{"lines":[4,2],"num":2}""")
    gives("head", """{"lines":[4,2,3]}""", """{"lines":[4],"num":1}""")
    gives("head", """{"lines":[4,2,3],"num":-1}""", """{"lines":[4,2],"num":-1}""")
    gives("head", """{"num":9}""", """{"lines":[],"num":9}""")
    fails("head", """{"lines":[1],"num":"x"}""", "num")

  test("split uses a literal separator, or line ends by default"):
    gives(
      "split",
      """{"payload":"one,two,three","separator":","}""",
      """{"lines":["one","two","three"],"payload":"one,two,three"}"""
    )
    gives("split", """{"payload":"a.b","separator":"."}""", """{"lines":["a","b"],"payload":"a.b"}""")
    gives("split", """{"payload":"a\r\nb\nc"}""", """{"lines":["a","b","c"],"payload":"a\r\nb\nc"}""")
    gives("split", """{"payload":12,"separator":"1"}""", """{"lines":["","2"],"payload":12}""")
    fails("split", "{}", "payload")

  test("split stops as soon as its result is certainly too large"):
    val lines = run(
      "split",
      s"""{"payload":"${"," * (1 << 20)}","separator":","}"""
    ).hcursor.get[Vector[String]]("lines")
    assertEquals(lines.map(_.size), Right(Utils.MostLines))
    assert(lines.exists(_.asJson.noSpaces.length > RunResult.MostBytes))

  test("smash nests everything under one name"):
    gives("smash", """{"a":1,"b":{"c":2},"$fieldName":"p"}""", """{"p":{"a":1,"b":{"c":2}}}""")
    fails("smash", """{"a":1}""", "$fieldName")

  test("date returns the time, and namespace the caller's namespace"):
    gives("date", "{}", """{"date":"2030-01-01T00:00:00.123Z"}""")
    gives("namespace", "{}", """{"namespace":"guest"}""")

  test("hosturl returns the URL of an action or a trigger"):
    def url(payload: String, url: String) =
      gives("hosturl", payload, s"""{"url":"https://burst.example.org$url"}""")
    url("{}", "/api/v1/namespaces/guest/actions")
    url("""{"path":"p/a"}""", "/api/v1/namespaces/guest/actions/p/a")
    url("""{"trigger":true,"path":"t"}""", "/api/v1/namespaces/guest/triggers/t")
    url("""{"web":true,"path":"a"}""", "/api/v1/web/guest/default/a.json")
    url("""{"web":true,"path":"p/a","ext":".http"}""", "/api/v1/web/guest/p/a.http")
    fails("hosturl", """{"web":true,"trigger":true}""", "web actions")
    fails("hosturl", """{"web":true,"ext":".exe"}""", "extension")
    fails("hosturl", """{"trigger":true,"path":"p/t"}""", "packages")
