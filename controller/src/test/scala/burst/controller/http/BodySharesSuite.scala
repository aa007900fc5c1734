package burst.controller.http

/** What one namespace's large bodies leave for the others, and for its own small ones. */
class BodySharesSuite extends ConnectionSuite:
  override def settings = """
    burst.http.flare-body-limit = 256KiB
    burst.http.flare-bodies-limit = 1MiB
    burst.http.deploy-body-limit = 256KiB
    burst.http.deploy-bodies-limit = 1MiB
    """

  private val large = 250_000

  /** Sends a large body except for its last byte, and does some work while `others` more bodies of its
    * namespace wait for memory.
    */
  private def holding[A](method: String, auth: String, others: Int)(work: => A): A =
    val connections = Vector.fill(1 + others)(connect())
    try
      connections.foreach: c =>
        c.send(asked(method, auth, large, "Expect: 100-continue\r\n"))
        if c eq connections.head then c.interim()
      connections.head.send("x" * (large - 1))
      work
    finally connections.foreach(_.close())

  private def asked(method: String, auth: String, length: Int, more: String = ""): String =
    s"$method $bursts/ghost HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic(auth)}\r\n" +
      s"Content-Type: application/json\r\nContent-Length: $length\r\n$more\r\n"

  private def namespace(name: String): String = storage.namespaces.create(name).getOrElse(fail(name))

  test("two namespaces cannot take all of the memory for flares, nor one all of that for deploys"):
    val (first, second, third) = (namespace("f1"), namespace("f2"), namespace("f3"))
    holding("POST", first, 1):
      holding("POST", second, 1):
        raw(c => refused(c.send(asked("POST", third, large) + "x" * large).reply(), 400, "not valid JSON"))
    holding("PUT", first, 3):
      raw(c => refused(c.send(asked("PUT", third, large) + "x" * large).reply(), 400, "not valid JSON"))

  test("a body that is being read is not interrupted by a later one, which waits"):
    Vector("POST", "PUT").foreach: method =>
      raw: first =>
        first.send(asked(method, credentials, large, "Expect: 100-continue\r\n"))
        first.interim()
        first.send("x" * 1000)
        raw: second =>
          second.send(asked(method, credentials, large, "Expect: 100-continue\r\n"))
          // By the time of this response, the second one is usually waiting.
          assertEquals(send("GET", bursts).status, 200)
          refused(first.send("x" * (large - 1000)).reply(), 400, "not valid JSON")
          second.interim()
          refused(second.send("x" * large).reply(), 400, "not valid JSON")

  test("a small body does not wait for large ones, not even for those of its own namespace"):
    holding("POST", credentials, 1):
      raw: c =>
        refused(c.send(asked("POST", credentials, 40_000) + "x" * 40_000).reply(), 400, "not valid JSON")

  test("the size that inputs grow to by the parameters under them counts as well"):
    deploy("padded", s""","parameters":{"pad":"${"x" * 1000}"}""")
    def many() =
      send("POST", s"$bursts/padded", Some(s"""{"params":[${Vector.fill(200)("{}").mkString(",")}]}"""))
    holding("POST", credentials, 0):
      val replies = Iterator.continually(many()).take(1000)
      assert(replies.exists(_.status == 503), "200 KB more were taken into a share of 256 KiB")
      assertEquals(send("POST", s"$bursts/padded", Some("""{"params":[{},{}]}""")).status, 202)
    assert(Iterator.continually(many()).take(1000).exists(_.status == 202))
