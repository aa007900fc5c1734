package burst.controller.http

import munit.FunSuite
import org.apache.pekko.http.scaladsl.model.Uri.Path
import scala.concurrent.duration.DurationInt

class RouteTemplatesSuite extends FunSuite:
  override def munitTimeout = 3.minutes
  private val described = RouteTemplates.described
  private val templates = RouteTemplates(described.keys)

  test("all of the description's paths and methods are found"):
    val found = for (path, methods) <- described.toSet; method <- methods yield method -> path
    assertEquals(found, ApiDescription.operations)

  test("each path matches its own template, whatever its parameters are"):
    for template <- described.keys do
      val path = Path(ApiDescription.concrete(template))
      assertEquals(templates.of(path), Some(template))
      if template != "/" && !template.endsWith("{rest}") then
        assertEquals(templates.of(path ++ Path./), Some(template))
    def told(path: String) = templates.of(Path(path))
    assertEquals(
      told("/api/v1/namespaces/_/actions/%2Fa%20b/c%00"),
      Some("/api/v1/namespaces/{namespace}/actions/{package}/{name}")
    )
    val web = "/api/v1/web/{owner}/{package}/{action}/{rest}"
    assertEquals(told("/api/v1/web/guest/default/hello.json//a/../b"), Some(web))

  test("a path that the API does not have matches no template"):
    val strange = Seq(
      "",
      "//",
      "/x",
      "//ping",
      "/ping/x",
      "/{rest}",
      "/api/v1/x",
      "/api/v1/namespaces/_/flares/a/b/c",
      "/api/v1/namespaces//flares",
      "/api/" + "a" * 8000,
      "/" * 8000,
      "ping"
    )
    for path <- strange.filter(_.nonEmpty) do assertEquals(templates.of(Path(path)), None, path)
