package burst.controller.http

import burst.controller.flare.FlareRequest
import burst.protocol.{FlareId, Inputs}
import io.circe.parser.parse
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import scala.util.Using

/** Bodies that are JSON, almost JSON, or too much JSON. */
class JsonBodySuite extends HttpSuite:
  override def settings = "burst.http.json-values-limit = 1000"

  private def post(
      path: String,
      body: String,
      headers: String = "Content-Type: application/json\r\n"
  ): Reply =
    put("POST", path, body, headers)

  /** Sends `body` encoded in ISO 8859-1, a byte for each character. */
  private def put(method: String, path: String, body: String, headers: String): Reply =
    Using.resource(RawConnection(port)): c =>
      c.send(s"$method $path HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(caller(path).get)}\r\n")
        .send(s"${headers}Content-Length: ${body.length}\r\n\r\n$body")
        .reply()

  private def sent(text: String): String = String(text.getBytes(UTF_8), ISO_8859_1)

  private def params: Inputs = service.last.get.map((request: FlareRequest) => request.inputs).get

  override def beforeAll(): Unit =
    super.beforeAll()
    deploy("json")
    ()

  test("a charset other than UTF-8 is refused, and any spelling of UTF-8 is accepted"):
    Seq("latin1", "ISO-8859-1", "utf-16", "utf-8x").foreach: charset =>
      val reply = post(s"$bursts/json", "{}", s"Content-Type: application/json; charset=$charset\r\n")
      refused(reply, 415, "UTF-8")
    Seq("application/json;charset=utf-8", "application/json; charset=\"UTF-8\"", "Application/JSON").foreach:
      kind =>
        assertEquals(post(s"$bursts/json", """{"size":1}""", s"Content-Type: $kind\r\n").status, 202, kind)

  test("a body with a content encoding is refused with how to send it"):
    Seq("gzip", "deflate", "br", "gzip, identity", "x-unheard-of").foreach: encoding =>
      val headers = s"Content-Type: application/json\r\nContent-Encoding: $encoding\r\n"
      val reply = post(s"$bursts/json", """{"size":1}""", headers)
      refused(reply, 415, "'Content-Encoding'")
    val plain = "Content-Type: application/json\r\nContent-Encoding: identity\r\n"
    assertEquals(post(s"$bursts/json", """{"size":1}""", plain).status, 202)

  test("invalid text is refused, wherever it occurs"):
    val half = """{"size":1,"params":"\ud800"}"""
    refused(post(s"$bursts/json", half), 400, "surrogate")
    refused(post(s"$bursts/json", "{\"size\":1,\"params\":\"\u00ff\"}"), 400, "UTF-8")
    refused(post(s"$bursts/json", "\u00ef\u00bb\u00bf{\"size\":1}"), 400, "byte order mark")
    val json = "Content-Type: application/json\r\n"
    refused(
      put("PUT", s"$bursts/other", s"""{"exec":{"kind":"rust","code":"\\udc00"}}""", json),
      400,
      "surrogate"
    )
    refused(put("PUT", s"$admin/other", """{"limits":{"\ud83d":1}}""", json), 400, "surrogate")

  test("valid text passes through unchanged"):
    assertEquals(post(s"$bursts/json", sent("""{"size":1,"params":["é😀\ud83d\ude00\u0000"]}""")).status, 202)
    val Inputs.Each(Vector(text)) = params: @unchecked
    assertEquals(parse(text.bytes.utf8String), Right(io.circe.Json.fromString("é😀😀\u0000")))

  test("a field that occurs twice is refused, at any depth"):
    Seq(
      """{"size":1,"size":2}""",
      """{"size":1,"params":{"a":1,"\u0061":2}}""",
      """{"size":1,"params":[[{"a":1,"b":{},"a":1}]]}"""
    ).foreach(body => refused(post(s"$bursts/json", body), 400, "twice"))
    assertEquals(post(s"$bursts/json", """{"params":[{"a":1},{"a":1}]}""").status, 202)

  test("too many field names, or too long ones, are refused"):
    def named(count: Int) = (1 to count).map(i => s"\"a$i\":0").mkString("{", ",", "}")
    assertEquals(post(s"$bursts/json", s"""{"size":1,"params":${named(90_000)}}""").status, 202)
    refused(post(s"$bursts/json", s"""{"size":1,"params":${named(100_001)}}"""), 400, "100000 fields")
    refused(post(s"$bursts/json", s"""{"size":1,"params":{"${"x" * 5000}":1}}"""), 400, "4096 bytes")

  test("too many values are refused, except in inputs, which are not parsed here"):
    assertEquals(post(s"$bursts/json", s"""{"size":1,"params":[[${"0," * 1000}0]]}""").status, 202)
    refused(
      put("PUT", s"$admin/x", s"[${"[]," * 1000}0]", "Content-Type: application/json\r\n"),
      400,
      "1000 values"
    )

  test("unusable numbers are refused quickly if a number is expected"):
    Seq(
      "1e1000000000",
      "1e-1000000000",
      "1e400",
      "1e99999999999999999999",
      "1.5",
      "-0.1",
      "123456789012345678901"
    ).foreach: number =>
      refused(post(s"$bursts/json", s"""{"size":$number}"""), 400, "'size'", "whole number")
    refused(post(s"$bursts/json", s"""{"size":${"1" * 8_000_000}}"""), 400, "1000 characters")
    refused(post(s"$bursts/json", s"""{"size":1,"params":${"1" * 1001}}"""), 400, "1000 characters")
    Seq("1", "1.0", "1e0", "10e-1").foreach: one =>
      assertEquals(post(s"$bursts/json", s"""{"size":$one}""").status, 202, one)

  test("numbers in inputs pass through as they were written"):
    val numbers =
      """[1.0,-0,-0.0,1e400,1E+2,1e-400,123456789012345678901234567890,0.1000000000000000055511151231257827]"""
    val reply = post(s"$bursts/json", s"""{"size":1,"params":{"n":$numbers}}""")
    assertEquals(reply.status, 202)
    val stored = FlareId.parse(reply.string("flareId")).flatMap(storage.flares.inputs)
    val Inputs.Shared(shared) = params: @unchecked
    assertEquals(shared.bytes.utf8String, s"""{"n":$numbers}""")
    assertEquals(stored.map(_.text.utf8String), Some(s"""{"shared":{"n":$numbers}}"""))
