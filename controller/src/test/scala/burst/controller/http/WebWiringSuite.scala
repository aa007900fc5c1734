package burst.controller.http

/** Web actions and APIs in a whole controller. */
class WebWiringSuite extends ConnectionSuite:
  override def settings = "burst.http.web.domain = example.org"

  private val management = "/api/v1/web/whisk.system/apimgmt"

  private def at(host: String, path: String): Reply = raw: c =>
    c.send(s"GET $path HTTP/1.1\r\nHost: $host\r\n\r\n").reply()

  test("strangers get 404 for web actions and APIs that do not exist"):
    val reply = send("GET", "/api/v1/web/guest/default/nobody", auth = None)
    refused(reply, 404, "web action")
    assert(reply.headers("content-security-policy").startsWith("sandbox "))
    refused(send("GET", s"/api/${"0" * 32}/a", auth = None), 404, "no such API")

  test("APIs are created, shown and removed with credentials"):
    val api = """{"apidoc":{"namespace":"_","gatewayBasePath":"/a","gatewayPath":"/b","gatewayMethod":"GET",
      "action":{"name":"hello","namespace":"_","backendMethod":"GET","backendUrl":"x","authkey":"x"}}}"""
    refused(send("POST", s"$management/createApi.http", Some(api), auth = None), 401)
    val made = send("POST", s"$management/createApi.http?responsetype=http", Some(api))
    assertEquals(made.status, 200, made.body)
    val address = made.string("gwApiUrl").stripPrefix(s"http://127.0.0.1:$port")
    refused(send("GET", s"$address/b", auth = None), 404, "web action")
    assert(send("GET", s"$management/getApi.http?basepath=%2Fa").body.contains(address))
    assertEquals(send("DELETE", s"$management/deleteApi.http?basepath=%2Fa").body, "{}")
    refused(send("GET", s"$address/b", auth = None), 404, "no such API")

  test("a namespace's own host serves its web actions and nothing else"):
    Seq(
      "/",
      "/default/nobody",
      "/api/v1",
      "/ping",
      "/ready",
      "/metrics",
      "/api/v1/namespaces/_/actions"
    ).foreach: path =>
      val reply = at("guest.example.org", path)
      refused(reply, 404, "web action")
      assert(!reply.headers.contains("content-security-policy"))
    assertEquals(at("example.org", "/ping").body, "pong")
    assertEquals(at("guest.example.com", "/ping").body, "pong")
