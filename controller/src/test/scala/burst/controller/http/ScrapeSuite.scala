package burst.controller.http

/** Metrics while something is wrong, and which requests they distinguish. */
class ScrapeSuite extends ConnectionSuite:
  override def settings = """
    burst.http.ready.patience = 20s
    burst.http.web.domain = example.org
  """

  private def shown(): Vector[String] =
    val reply = send("GET", "/metrics", auth = None)
    assertEquals(reply.status, 200)
    reply.body.linesIterator.toVector

  test("on a namespace's own host, a path such as /ping is not counted as the API's"):
    for path <- Seq("/default/nobody", "/metrics", "/ping") do
      val _ = raw(c => c.send(s"GET $path HTTP/1.1\r\nHost: guest.example.org\r\n\r\n").reply())
    val lines = shown()
    val web = "/api/v1/web/{owner}/{package}/{action}"
    for labels <- Seq(
        s"""{method="GET",route="$web",status="404"} 1.0""",
        """{method="other",route="other",status="404"} 2.0"""
      )
    do assert(lines.contains(s"burst_http_requests_total$labels"), lines.mkString("\n"))
    assert(!lines.exists(_.contains("""route="/ping"""")), lines.mkString("\n"))
    assert(!lines.exists(_.contains("example")), lines.mkString("\n"))

  test("undocumented methods and paths share one series, however many there are"):
    for i <- 1 to 30 do
      val _ = raw(c => c.send(s"WORD$i /strange/$i HTTP/1.1\r\nHost: h\r\n\r\n").reply())
    val lines = shown()
    assert(!lines.exists(line => line.contains("WORD") || line.contains("strange")), lines.mkString("\n"))

  // Last, as a silent scheduler is not asked again, and later tests would wait for it, too.
  test("a scheduler that does not answer is reported as down, along with all other metrics"):
    service.silent = true
    val lines = shown()
    for line <- Seq(
        """burst_part_up{part="scheduler"} 0.0""",
        """burst_part_up{part="database"} 1.0""",
        "burst_slots NaN",
        """burst_flares{state="queued"} 0.0"""
      )
    do assert(lines.contains(line), s"$line is not in\n${lines.mkString("\n")}")
