package burst.controller.web

import burst.controller.action.ActionName
import org.apache.pekko.http.scaladsl.model.Uri

class WebPathSuite extends munit.FunSuite:
  private def of(path: String): Option[WebPath] = WebPath.of(Uri(s"http://x$path").path)

  private def path(packageName: Option[String], name: String, extension: WebExtension, rest: String = "") =
    Some(WebPath(ActionName("guest", packageName, name), extension, rest))

  test("a known extension is stripped, and any other ending is part of the name"):
    assertEquals(of("/guest/default/hello"), path(None, "hello", WebExtension.Http))
    assertEquals(of("/guest/pkg/hello.json"), path(Some("pkg"), "hello", WebExtension.Json))
    assertEquals(of("/guest/pkg/hello.json.http"), path(Some("pkg"), "hello.json", WebExtension.Http))
    assertEquals(of("/guest/default/hello.png"), path(None, "hello.png", WebExtension.Http))
    WebExtension.values.foreach: extension =>
      assertEquals(of(s"/guest/default/a${extension.suffix}"), path(None, "a", extension))

  test("the rest of the path is kept as it is written"):
    assertEquals(of("/guest/default/a.text/b/c"), path(None, "a", WebExtension.Text, "/b/c"))
    assertEquals(of("/guest/default/a/"), path(None, "a", WebExtension.Http, "/"))
    assertEquals(of("/guest/default/a/b%2Fc%20d"), path(None, "a", WebExtension.Http, "/b%2Fc%20d"))

  test("a path with an invalid name is no action"):
    Seq(
      "",
      "/",
      "/guest",
      "/guest/default",
      "/guest/default/",
      "/guest//hello",
      "//default/hello",
      "/guest/default/.http",
      "/guest/default/a%2Fb",
      "/guest/default%2Fhello",
      "/guest/default/%2e%2e",
      "/guest/default/a%00b",
      "/guest/default/a%0Ab",
      "/guest%0D/default/a",
      s"/guest/default/${"a" * 257}"
    ).foreach(text => assertEquals(of(text), None, text))
