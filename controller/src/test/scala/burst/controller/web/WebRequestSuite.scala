package burst.controller.web

import io.circe.{Json, JsonObject}
import munit.ScalaCheckSuite
import org.apache.pekko.http.scaladsl.model.{ContentType, ContentTypes, MediaTypes}
import org.apache.pekko.util.ByteString
import org.scalacheck.{Arbitrary, Gen}
import org.scalacheck.Prop.forAll

class WebRequestSuite extends ScalaCheckSuite:
  private val open =
    WebRules(exported = true, raw = false, customOptions = false, WebAccess.Anyone, Set.empty)
  private val raw = open.copy(raw = true)

  private def request(query: String = "", user: Option[String] = None) =
    WebRequest(
      "POST",
      Vector("X-A" -> "1", "x-a" -> "2", "Cookie" -> "a", "cookie" -> "b"),
      "/rest",
      query,
      user
    )

  private def fields(all: (String, Json)*) = JsonObject.fromIterable(all)
  private def text(value: String) = Json.fromString(value)

  private def arguments(request: WebRequest, body: WebBody, rules: WebRules = open): JsonObject =
    WebRequest.arguments(request, body, rules).fold(problem => fail(problem.toString), identity)

  test("an action gets a description of the request, and the query under the body's fields"):
    assertEquals(
      arguments(request("a=1&b=2&b=3", Some("me")), WebBody.Merged(fields("a" -> Json.True))),
      fields(
        "a" -> Json.True,
        "b" -> text("3"),
        "__ow_method" -> text("post"),
        "__ow_headers" -> Json.obj("x-a" -> text("1, 2"), "cookie" -> text("a; b")),
        "__ow_path" -> text("/rest"),
        "__ow_user" -> text("me")
      )
    )

  test("any other body is passed whole"):
    val list = Json.arr(Json.True)
    assertEquals(arguments(request(), WebBody.Whole(list))("__ow_body"), Some(list))
    assertEquals(arguments(request(), WebBody.Absent)("__ow_body"), None)
    assertEquals(arguments(request(), WebBody.Absent)("__ow_user"), None)

  test("a raw action gets query and body as they arrived"):
    val asked = request("a=1&__ow_user=x")
    val told = arguments(asked, WebBody.Absent, raw)
    assertEquals(told("__ow_query"), Some(text("a=1&__ow_user=x")))
    assertEquals(told("__ow_body"), Some(text("")))
    assertEquals(told("a"), None)
    assertEquals(told("__ow_user"), None)
    assertEquals(arguments(asked, WebBody.Whole(text("b")), raw)("__ow_body"), Some(text("b")))

  private val ownNames =
    Gen.oneOf("method", "headers", "path", "user", "query", "body", "anything").flatMap: name =>
      Gen.listOfN(name.length + 5, Arbitrary.arbitrary[Boolean]).map: upper =>
        s"__ow_$name".zip(upper).map((c, up) => if up then c.toUpper else c).mkString

  property("a parameter with one of the platform's own names is refused, whatever its case"):
    forAll(ownNames): name =>
      val refused = Left(WebProblem.ParameterNotAllowed(name))
      assertEquals(WebRequest.arguments(request(s"$name=x"), WebBody.Absent, open), refused)
      assertEquals(WebRequest.arguments(request(), WebBody.Merged(fields(name -> Json.True)), open), refused)
      assertEquals(
        WebRequest.arguments(request().copy(more = Vector(name -> "x")), WebBody.Absent, open),
        refused
      )

  property("an action receives the true user and method of a request, whatever fields are sent"):
    forAll: (names: List[String], values: List[String]) =>
      val sent = fields(names.zip(values.map(text))*)
      WebRequest.arguments(request(user = Some("me")), WebBody.Merged(sent), open).foreach: told =>
        assertEquals(told("__ow_user"), Some(text("me")))
        assertEquals(told("__ow_method"), Some(text("post")))
        assert(sent.toIterable.forall((name, value) => told(name).contains(value)))

  test("a request cannot give a final parameter of an action"):
    val rules = open.copy(finals = Set("key"))
    val refused = Left(WebProblem.ParameterNotAllowed("key"))
    assertEquals(WebRequest.arguments(request("key=x"), WebBody.Absent, rules), refused)
    assertEquals(WebRequest.arguments(request("k%65y=x"), WebBody.Absent, rules), refused)
    assertEquals(WebRequest.arguments(request(), WebBody.Merged(fields("key" -> Json.Null)), rules), refused)

  test("a query that cannot be read, or has too many fields, is refused"):
    assertEquals(
      WebRequest.arguments(request("a=%zz"), WebBody.Absent, open),
      Left(WebProblem.MalformedQuery)
    )
    assertEquals(
      WebRequest.arguments(request("&" * WebBody.MostFields), WebBody.Absent, open),
      Left(WebProblem.TooManyFields(WebBody.MostFields))
    )

  private def form(contentType: ContentType, raw: Boolean = false) =
    BodyForm.of(contentType, isEmpty = false, raw)

  private def parsed(text: String): ContentType = ContentType.parse(text).getOrElse(fail(text))

  test("a body's form depends on its content type"):
    val urlEncoded = parsed("application/x-www-form-urlencoded")
    assertEquals(form(ContentTypes.`application/json`), BodyForm.Json)
    assertEquals(form(parsed("application/vnd.api+json")), BodyForm.Json)
    assertEquals(form(urlEncoded), BodyForm.Fields)
    assertEquals(form(ContentTypes.`text/plain(UTF-8)`), BodyForm.Text)
    assertEquals(form(MediaTypes.`image/png`), BodyForm.Binary)
    assertEquals(form(parsed("application/x-unheard-of")), BodyForm.Binary)
    assertEquals(form(ContentTypes.NoContentType), BodyForm.Binary)
    assertEquals(form(ContentTypes.`application/json`, raw = true), BodyForm.Binary)
    assertEquals(form(urlEncoded, raw = true), BodyForm.Text)
    assertEquals(BodyForm.of(ContentTypes.`application/json`, isEmpty = true, raw = false), BodyForm.Absent)

  property("binary bodies are passed on as base64, byte for byte"):
    forAll: (bytes: Array[Byte]) =>
      WebBody.ofBinary(ByteString(bytes)) match
        case WebBody.Whole(value) =>
          assertEquals(java.util.Base64.getDecoder.decode(value.asString.getOrElse("?")).toSeq, bytes.toSeq)
        case other => fail(other.toString)

  test("forms are read as browsers write them"):
    assertEquals(
      WebBody.ofForm(ByteString("a=1&b=x+y%21&a=2&c")),
      Right(WebBody.Merged(fields("a" -> text("2"), "b" -> text("x y!"), "c" -> text(""))))
    )
    assertEquals(WebBody.ofForm(ByteString("a=%")), Left(WebProblem.MalformedForm))
    assertEquals(
      WebBody.ofForm(ByteString("a&" * WebBody.MostFields)),
      Left(WebProblem.TooManyFields(WebBody.MostFields))
    )

  test("text is read in its declared charset"):
    val latin = WebBody.ofText(parsed("text/plain; charset=ISO-8859-1"), ByteString(0xe9.toByte))
    assertEquals(latin, WebBody.Whole(text("é")))
    assertEquals(WebBody.ofText(parsed("text/plain"), ByteString("é")), WebBody.Whole(text("é")))
