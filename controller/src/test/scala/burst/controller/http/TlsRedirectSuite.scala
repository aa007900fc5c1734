package burst.controller.http

import burst.controller.FreePort
import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import scala.util.Using

class TlsRedirectSuite extends HttpSuite:
  private val plain = FreePort()

  override def settings: String =
    s"""burst.http.tls {
      certificate = "${TlsFiles.certificate}", key = "${TlsFiles.key}", redirect-port = $plain
    }"""

  private def asked(path: String, host: String, method: String = "GET"): Reply =
    Using.resource(RawConnection(plain)): connection =>
      connection.send(s"$method $path HTTP/1.1\r\nHost: $host\r\nContent-Length: 0\r\n\r\n").reply()

  test("a request without TLS is redirected to the TLS port, under the host name that it used"):
    val secured = controller.address.getPort
    for method <- Seq("GET", "POST") do
      val reply = asked("/api/v1/web/a/b/c.json?q=%20x", s"example.org:$plain", method)
      assertEquals(reply.status, 308)
      assertEquals(
        reply.headers("location"),
        s"https://example.org:$secured/api/v1/web/a/b/c.json?q=%20x"
      )
    val client = HttpClient
      .newBuilder()
      .sslContext(TlsFiles.trusting)
      .followRedirects(HttpClient.Redirect.NORMAL)
      .build()
    val request = HttpRequest.newBuilder(URI(s"http://127.0.0.1:$plain/ping")).build()
    assertEquals(client.send(request, HttpResponse.BodyHandlers.ofString()).body, "pong")

  test("nothing in a path becomes a header, and odd paths lead to no other host"):
    for path <- Seq("/a%0d%0aSet-Cookie:x=1", "//evil.example/", "/\\evil.example") do
      val reply = asked(path, "example.org")
      assert(!reply.headers.contains("set-cookie"), reply.headers)
      assert(
        reply.status == 400 || reply.headers("location").startsWith("https://example.org:"),
        reply.headers
      )
