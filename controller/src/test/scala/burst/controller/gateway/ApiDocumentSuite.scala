package burst.controller.gateway

import burst.controller.action.ActionName
import burst.controller.web.WebExtension
import io.circe.Json
import io.circe.parser.parse

class ApiDocumentSuite extends munit.FunSuite:
  import GatewayProblem.*

  private def json(text: String): Json = parse(text).getOrElse(fail(text))
  private val operation =
    """{"x-openwhisk":{"namespace":"_","package":"default","action":"hello","url":"https://h/api/v1/web/_/default/hello.json"}}"""

  private def document(paths: String, more: String = "", base: String = "/club") =
    json(
      s"""{"swagger":"2.0","basePath":"$base","info":{"title":"Club","version":"1"},"paths":$paths$more}"""
    )

  private def read(json: Json) = ApiDocument.read(json, "guest")
  private def refused(json: Json): GatewayProblem = read(json).fold(identity, it => fail(it.text))

  test("a document routes requests to the actions of its operations"):
    val whole = read(
      document(s"""{"/books/{isbn}":{"get":$operation,"parameters":[]},"/books/new":{"get":$operation}}""")
    )
      .fold(problem => fail(problem.toString), identity)
    val operations = ApiOperations.of(whole, "guest")
    val backend = Backend(ActionName("guest", None, "hello"), WebExtension.Json, None)
    assertEquals(
      operations.find(Vector("books", "42"), "get"),
      ApiTarget.Found(backend, Vector("isbn" -> "42"))
    )
    assertEquals(operations.find(Vector("books", "new"), "get"), ApiTarget.Found(backend, Vector.empty))
    assertEquals(operations.find(Vector("books", "42"), "post"), ApiTarget.OtherVerbs(Vector("get")))
    assertEquals(operations.find(Vector("books"), "get"), ApiTarget.Nowhere)

  test("an invalid document is refused with its problem"):
    val one = s"""{"/a":{"get":$operation}}"""
    Seq(
      json("[]") -> WrongType("apidoc.swagger", "an object"),
      json("{}") -> NotSwagger,
      json("""{"swagger":"3.0","basePath":"/a"}""") -> NotSwagger,
      json("""{"swagger":"2.0"}""") -> MissingField("apidoc.swagger.basePath"),
      json("""{"swagger":"2.0","basePath":1}""") -> MissingField("apidoc.swagger.basePath"),
      json("""{"swagger":"2.0","basePath":"/a"}""") -> MissingField("apidoc.swagger.info"),
      json("""{"swagger":"2.0","basePath":"/a","info":{}}""") -> MissingField("apidoc.swagger.paths"),
      document(one, base = "club") -> BadBasePath("club"),
      document(one, base = "/{a}") -> BadBasePath("/{a}"),
      document("{}") -> NoPaths,
      document("""{"/a":{}}""") -> NoPaths,
      document("""{"/a":1}""") -> WrongType("paths./a", "an object"),
      document(s"""{"a":{"get":$operation}}""") -> BadPath("a"),
      document(s"""{"/{__ow_user}":{"get":$operation}}""") -> BadPath("/{__ow_user}"),
      document("""{"/a":{"get":1}}""") -> WrongType("paths./a.get", "an object"),
      document("""{"/a":{"get":{}}}""") -> MissingField("paths./a.get.x-openwhisk"),
      document("""{"/a":{"get":{"x-openwhisk":{"action":"../x"}}}}""") -> BadAction(
        "paths./a.get.x-openwhisk"
      ),
      document(one, ""","securityDefinitions":{"key":{"type":"apiKey"}}""") -> SecurityNotSupported,
      document(one, ""","security":[{"key":[]}]""") -> SecurityNotSupported,
      document(
        s"""{"/a":{"get":{"security":[{"k":[]}],"x-openwhisk":{"action":"x"}}}}"""
      ) -> SecurityNotSupported,
      document(
        one,
        s""","x":"${"a" * ApiDocument.MostCharacters}""""
      ) -> TooLarge(ApiDocument.MostCharacters),
      document((0 to ApiDocument.MostPaths).map(n =>
        s""""/$n":{"get":{"x-openwhisk":{"action":"a"}}}"""
      ).mkString("{", ",", "}"))
        -> TooManyPaths(ApiDocument.MostPaths)
    ).foreach((document, problem) => assertEquals(refused(document), problem, document.noSpaces.take(200)))

  test("`_` stands for the sender's namespace, whoever reads the document"):
    assert(
      read(document(s"""{"/a":{"get":$operation}}""")).exists(_.text.contains("\"namespace\":\"guest\""))
    )

  private def request(doc: String, parse: String => Option[Json] = _ => None) =
    ApiRequest.read(json(s"""{"apidoc":$doc}"""), "guest", WebExtension.Http, parse)

  private def wsk(path: String = "/books/{isbn}", more: String = "", action: String = "") =
    s"""{"namespace":"_","gatewayBasePath":"/club","gatewayPath":"$path","gatewayMethod":"GET","id":"API:_:/club",
        "action":{"name":"pkg/hello","namespace":"_","backendMethod":"GET","backendUrl":"https://h/x","authkey":"u:k"$action}$more}"""

  test("a single operation is read as clients send it"):
    request(wsk(more = ""","apiName":"Club"""", action = ""","secureKey":"word"""")) match
      case Right(ApiRequest.Operation(api, title, path, template, verb, backend)) =>
        assertEquals((api, title, template, verb), ("/club", Some("Club"), "/books/{isbn}", "get"))
        assertEquals(path.parameters, Vector("isbn"))
        assertEquals(
          backend,
          Backend(ActionName("guest", Some("pkg"), "hello"), WebExtension.Http, Some("word"))
        )
        assert(!backend.toString.contains("word"))
      case other => fail(other.toString)

  test("a document may be sent as text, and so may the whole request"):
    val swagger = document(s"""{"/a":{"get":$operation}}""").noSpaces
    val asText = Json.fromString(swagger).noSpaces
    assert(request(s"""{"namespace":"_","swagger":$swagger}""").isRight)
    assert(request(s"""{"namespace":"_","swagger":$asText}""", parse(_).toOption).isRight)
    assert(request(Json.fromString(s"""{"swagger":$swagger}""").noSpaces, parse(_).toOption).isRight)
    assertEquals(request("""{"swagger":"{"}""", parse(_).toOption), Left(NotADocument("apidoc.swagger")))
    assertEquals(request(s"""{"swagger":$swagger,"gatewayBasePath":"/a"}"""), Left(TwoKinds))

  test("an added operation appears in the document, without the client's key"):
    val Right(ApiRequest.Operation(_, _, path, template, verb, backend)) = request(wsk()): @unchecked
    val empty = ApiDocument.empty("/club", None).fold(problem => fail(problem.toString), identity)
    val added = empty.adding(path, template, verb, backend, "http://h")
    assertEquals(added.title, "/club")
    assert(!added.text.contains("u:k"))
    val operation =
      added.paths(template).flatMap(_.hcursor.downField("get").focus).getOrElse(fail(added.text))
    assertEquals(
      operation.hcursor.downField("x-openwhisk").get[String]("url"),
      Right("http://h/api/v1/web/guest/pkg/hello.http")
    )
    assertEquals(
      ApiDocument.read(Json.fromJsonObject(added.json), "guest").map(_.text),
      Right(added.text),
      "the document can be read back"
    )

  test("operations are removed one by one, and the last one takes its path with it"):
    val whole =
      read(document(s"""{"/a":{"get":$operation,"put":$operation},"/b":{"get":$operation}}""")).fold(
        p => fail(p.toString),
        identity
      )
    assertEquals(whole.removing("/c", None), Left(NoSuchPath("/c")))
    assertEquals(whole.removing("/a", Some("post")), Left(NoSuchOperation("/a", "post")))
    val less = whole.removing("/a", Some("get")).flatMap(_.removing("/a", Some("put")))
    assertEquals(less.map(_.paths.keys.toSeq), Right(Seq("/b")))
    assertEquals(less.flatMap(_.removing("/b", None)).map(_.isEmpty), Right(true))
    assertEquals(whole.only(Some("/a"), Some("put"))("paths").map(_.noSpaces.contains("get")), Some(false))
