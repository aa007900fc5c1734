package burst.controller.http

import burst.controller.store.insert
import burst.controller.flare.FlareState
import burst.controller.store.Samples

/** `HEAD` is `GET` without a body, everywhere. */
class HeadSuite extends ConnectionSuite:
  private def ask(method: String, path: String, auth: String): Reply = raw: c =>
    c.send(s"$method $path HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(auth)}\r\n\r\n")
    if method == "HEAD" then c.head() else c.reply()

  test("HEAD returns what GET returns, without the body"):
    Samples.put(storage, Samples.definition("known", "guest"))
    val flare = FakeFlareService.ended(FlareState.Succeeded)(Samples.flare())
    storage.flares.insert(flare)
    val one = s"$flares/${flare.id.value}"
    val paths = Seq(
      "/",
      "/ping",
      "/ready",
      "/metrics",
      "/api/v1",
      "/api/v1/openapi.yaml",
      "/api/v1/invokers",
      bursts,
      s"$bursts/known",
      s"$bursts/unknown",
      flares,
      s"$flares?limit=nothing",
      one,
      s"$one/result",
      s"$one/logs",
      s"$one/timeline",
      s"$flares/nonsense",
      groups,
      s"$groups/${"0" * 32}",
      admin,
      s"$admin/guest",
      "/nowhere",
      "/api/v1/namespaces/other/bursts"
    )
    for
      path <- paths
      auth <- caller(path).toSeq :+ "nobody:nothing"
    do
      val (get, head) = (ask("GET", path, auth), ask("HEAD", path, auth))
      assertEquals(head.status, get.status, path)
      assertEquals(head.body, "")
      assertEquals(head.headers.get("content-type"), get.headers.get("content-type"), path)
      assert(head.headers.contains("x-request-id"), path)
      if path != "/metrics" then
        assertEquals(head.headers.get("content-length"), get.headers.get("content-length"), path)

  test("HEAD is allowed exactly where GET is, and is listed among the allowed methods"):
    refused(ask("POST", flares, credentials), 405, "GET, HEAD")
    assertEquals(ask("DELETE", bursts, credentials).headers.get("allow"), Some("GET, HEAD"))
    assertEquals(
      ask("PATCH", s"$bursts/x", credentials).headers.get("allow"),
      Some("PUT, GET, HEAD, DELETE, POST")
    )
