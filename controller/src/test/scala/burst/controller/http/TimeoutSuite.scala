package burst.controller.http

import burst.controller.store.Samples

/** A request that the platform does not finish in time. */
class TimeoutSuite extends HttpSuite:
  override def settings = "burst.http.server.request-timeout = 500ms"

  test("a request that takes too long is abandoned with a 503 in the API's form"):
    // Stored without the API: with so short a limit, a deploy might itself be abandoned.
    Samples.put(storage, Samples.definition("slow"))
    service.hanging = true
    refused(send("POST", s"$bursts/slow?blocking=true", Some("""{"size":1}""")), 503, "took too long")
