package burst.controller.web

import org.apache.pekko.http.scaladsl.model.Uri.Path

class FrontProxySuite extends munit.FunSuite:
  private def path(host: String, path: String) =
    FrontProxy("example.org").path(host, Path(path)).map(_.toString)

  test("a namespace has its web actions on a host of its own"):
    assertEquals(
      path("guest.example.org", "/pkg/hello.json/rest"),
      Some("/api/v1/web/guest/pkg/hello.json/rest")
    )
    assertEquals(path("guest.example.org", "/"), Some("/api/v1/web/guest/public/index.html"))
    assertEquals(path("guest.example.org", "/api/v1/namespaces"), Some("/api/v1/web/guest/api/v1/namespaces"))

  test("other hosts are left unchanged"):
    Seq(
      "example.org",
      "a.b.example.org",
      ".example.org",
      "guestexample.org",
      "guest.example.org.evil",
      "-.example.org",
      ""
    )
      .foreach(host => assertEquals(path(host, "/x"), None, host))
