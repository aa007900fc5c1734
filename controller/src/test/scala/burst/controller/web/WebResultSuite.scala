package burst.controller.web

import io.circe.Json
import io.circe.parser.parse
import munit.ScalaCheckSuite
import org.apache.pekko.http.scaladsl.model.{HttpEntity, HttpResponse}
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class WebResultSuite extends ScalaCheckSuite:
  import WebExtension.{Html, Http, Svg, Text}

  private def json(text: String): Json = parse(text).getOrElse(fail(text))

  /** The status, content type and body of a response. */
  private def shown(response: HttpResponse): (Int, String, String) = response.entity match
    case HttpEntity.Strict(contentType, bytes) =>
      (response.status.intValue, contentType.value, bytes.utf8String)
    case other => fail(other.toString)

  private def got(extension: WebExtension, result: String): (Int, String, String) =
    WebResult.response(extension, json(result)).fold(problem => fail(s"$problem: $result"), shown)

  private def refused(extension: WebExtension, result: String): WebProblem =
    WebResult.response(extension, json(result)).fold(identity, response => fail(s"$result: $response"))

  test("a result without a body has no content"):
    Seq("{}", """{"body":null}""", """{"body":""}""", """{"other":1}""").foreach: result =>
      assertEquals(got(Http, result), (204, "none/none", ""))
    assertEquals(got(Http, """{"statusCode":201}"""), (201, "none/none", ""))
    assertEquals(got(Http, """{"statusCode":"404","body":""}"""), (404, "none/none", ""))

  test("a string is HTML unless the result has another content type"):
    assertEquals(got(Http, """{"body":"<p>é"}"""), (200, "text/html; charset=UTF-8", "<p>é"))
    assertEquals(
      got(Http, """{"body":"a,b","headers":{"content-type":"text/csv"}}"""),
      (200, "text/csv; charset=UTF-8", "a,b")
    )
    assertEquals(got(Http, """{"statusCode":500,"body":"x"}""")(0), 500)

  test("a binary body is in base64"):
    assertEquals(
      got(Http, """{"body":"aGk=","headers":{"Content-Type":"image/png"}}"""),
      (200, "image/png", "hi")
    )
    assertEquals(
      refused(Http, """{"body":"?","headers":{"Content-Type":"image/png"}}"""),
      WebProblem.NotBase64
    )

  test("any other body is returned as JSON"):
    assertEquals(got(Http, """{"body":{"a":1}}"""), (200, "application/json", """{"a":1}"""))
    assertEquals(got(Http, """{"body":[1]}"""), (200, "application/json", "[1]"))
    assertEquals(got(Http, """{"body":false}"""), (200, "application/json", "false"))
    assertEquals(
      got(Http, """{"body":{},"headers":{"content-type":"application/vnd.api+json"}}""")(2),
      "{}"
    )
    assertEquals(
      refused(Http, """{"body":{},"headers":{"content-type":"text/html"}}"""),
      WebProblem.NotOfContentType
    )

  test("JSON may be a string, or base64 as in older actions"):
    def body(text: String) =
      got(Http, s"""{"body":"$text","headers":{"content-type":"application/json"}}""")(2)
    assertEquals(body("""{\"a\":1}"""), """{"a":1}""")
    assertEquals(body("eyJhIjoxfQ=="), """{"a":1}""")
    assertEquals(body("true"), "true")
    assertEquals(body("1234"), "1234")

  test("a status is a whole number from 200 to 599, as a number or as text"):
    assertEquals(got(Http, """{"statusCode":444,"body":"x"}""")(0), 444)
    assertEquals(got(Http, """{"statusCode":204,"body":"x"}"""), (204, "none/none", ""))
    assertEquals(got(Http, """{"statusCode":304,"body":"x"}"""), (304, "none/none", ""))
    Seq(
      "100",
      "101",
      "199",
      "600",
      "0",
      "-200",
      "99999999999",
      "200.5",
      "\"abc\"",
      "\"\"",
      "\"+200\"",
      "true",
      "[200]",
      "{}"
    )
      .foreach(code => assertEquals(refused(Http, s"""{"statusCode":$code}"""), WebProblem.BadStatus, code))

  private def headers(all: String): Either[WebProblem, Seq[String]] =
    WebResult.response(Http, json(s"""{"headers":$all}""")).map(_.headers.map(_.toString))

  test("a header has one value or several"):
    assertEquals(
      headers("""{"X-A":"a","X-B":1,"X-C":true,"X-D":["x","y",2],"X-E":"  padded "}"""),
      Right(Seq("X-A: a", "X-B: 1", "X-C: true", "X-D: x", "X-D: y", "X-D: 2", "X-E: padded"))
    )
    assertEquals(
      headers("""{"Set-Cookie":["a=1","b=2"]}"""),
      Right(Seq("Set-Cookie: a=1", "Set-Cookie: b=2"))
    )

  test("invalid headers are refused, such as those that end a line, or may once they are written"):
    Seq(
      """{"X":"a\r\nSet-Cookie: b"}""",
      """{"X":"a\nb"}""",
      """{"X":"a\rb"}""",
      """{"X":"a\u0000"}""",
      """{"X":"\u010a"}""",
      """{"X":"\u560d\u560a"}""",
      """{"X":"é"}""",
      """{"X\r\nY":"a"}""",
      """{"X Y":"a"}""",
      """{"X:":"a"}""",
      """{"":"a"}""",
      """{"Xé":"a"}""",
      """{"X":null}""",
      """{"X":{}}""",
      """{"X":[["a"]]}""",
      """{"X":[null]}""",
      "[]",
      "\"X: a\""
    ).foreach(all => assertEquals(headers(all), Left(WebProblem.BadHeader), all))

  test("headers that are the server's to set are left out"):
    assertEquals(
      headers("""{"Content-Length":"5","transfer-encoding":"chunked","CONNECTION":"close","Upgrade":"h2c","TE":"x",
        "Trailer":"x","Keep-Alive":"x","Date":"x","Server":"x","X-Request-Id":"x","X-OpenWhisk-Activation-Id":"x",
        "Strict-Transport-Security":"max-age=1","X-Mine":"kept"}"""),
      Right(Seq("X-Mine: kept"))
    )

  test("headers have a maximum total length"):
    assertEquals(
      headers(s"""{"X":"${"a" * WebHeaders.MostCharacters}"}"""),
      Left(WebProblem.HeadersTooLarge(WebHeaders.MostCharacters))
    )

  property("no header of an action's response spans more than one line"):
    val nasty = Gen.stringOf(Gen.frequency(
      3 -> Gen.alphaNumChar,
      1 -> Gen.oneOf('\r', '\n', '\u0000', '\u010a', ':', ' ')
    ))
    forAll(nasty, nasty): (name, value) =>
      headers(Json.obj(name -> Json.fromString(value)).noSpaces).foreach: all =>
        all.foreach: line =>
          assert(line.forall(c => c >= ' ' && c < 0x7f), line)
          assert(line.startsWith(s"$name: "), line)

  test("an invalid content type is refused"):
    assertEquals(
      refused(Http, """{"body":"x","headers":{"content-type":"nonsense"}}"""),
      WebProblem.BadContentType
    )
    assertEquals(refused(Http, """{"body":"x","headers":{"content-type":""}}"""), WebProblem.BadContentType)

  test("the other extensions show their field, or the whole result"):
    assertEquals(got(WebExtension.Json, """{"a":1}"""), (200, "application/json", """{"a":1}"""))
    assertEquals(got(WebExtension.Json, "[1]")(2), "[1]")
    assertEquals(got(Html, """{"html":"<p>"}"""), (200, "text/html; charset=UTF-8", "<p>"))
    assertEquals(got(Html, """{"body":"b","html":"<p>"}""")(2), "b")
    assertEquals(got(Svg, """{"svg":"<svg/>"}"""), (200, "image/svg+xml", "<svg/>"))
    assertEquals(got(Text, """{"text":"t"}"""), (200, "text/plain; charset=UTF-8", "t"))
    assertEquals(got(Text, """{"body":{"a":1}}""")(2), "{\n  \"a\" : 1\n}")
    assertEquals(got(Text, """{"text":12}""")(2), "12")
    assertEquals(got(Text, """{"text":null}""")(2), "null")
    assertEquals(got(Html, "\"an error\"")(2), "an error")

  test("a result that is deep and wide is not indented as text"):
    def nested(depth: Int, width: Int) =
      "[" * depth + Vector.fill(width)("0").mkString(",") + "]" * depth
    assertEquals(got(Text, nested(2, 1))(2), "[\n  [\n    0\n  ]\n]")
    val large = nested(250, 100_000)
    assertEquals(got(Text, large)(2), large)
    assertEquals(got(Text, s"""{"body":{"a":$large}}""")(2), s"""{"a":$large}""")

  test("a result that an extension cannot show is refused"):
    Seq(
      Http -> "[]",
      Http -> "\"x\"",
      WebExtension.Json -> "\"x\"",
      Html -> "{}",
      Html -> """{"html":1}""",
      Svg -> "[]"
    )
      .foreach: (extension, result) =>
        assertEquals(refused(extension, result), WebProblem.NotOfExtension(extension))
    assertEquals(refused(Text, """{"a":1}"""), WebProblem.NoText)
