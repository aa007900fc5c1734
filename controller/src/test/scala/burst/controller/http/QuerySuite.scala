package burst.controller.http

/** Which parameters queries may name: the described ones on our own calls, any on OpenWhisk's. */
class QuerySuite extends HttpSuite:
  private val tolerant = Seq(
    "/api/v1/namespaces/\\{namespace}/(actions|packages|triggers|rules|activations|limits).*",
    "/|/ping|/ready|/metrics|/api/v1|/api/v1/(namespaces|openapi.yaml|api-docs)",
    "/api/v1/web/.*|/api/\\{tenant}/.*"
  )

  test("an unknown parameter is refused by name on each of our own calls, and ignored elsewhere"):
    for (method, path) <- ApiDescription.operations.toSeq.sorted if method != "HEAD" do
      val concrete = ApiDescription.concrete(path)
      val body = Option.when(method != "GET")("{}")
      val reply = send(method, s"$concrete?sikp=3", body, caller(concrete))
      val isTolerant = tolerant.exists(path.matches(_))
      assertEquals(reply.body.contains("'sikp'"), !isTolerant, s"$method $path: ${reply.body}")

  test("the refusal names the parameters that exist"):
    refused(send("GET", s"$bursts?limit=1&offset=3"), 400, "'offset'", "limit, skip")
    refused(send("DELETE", s"$bursts/x?force=true"), 400, "'force'")
    refused(send("GET", s"$flares?status=running"), 400, "'status'", "state")
    refused(send("POST", s"$bursts/x?blocking=true&results=true", Some("{}")), 400, "'results'", "result")
