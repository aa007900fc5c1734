package burst.controller.http

/** What one namespace's large bodies leave to the others, and to its own small ones. */
class BodySharesSuite extends ConnectionSuite:
  override def settings = """
    burst.http.flare-body-limit = 256KiB
    burst.http.flare-bodies-limit = 1MiB
    burst.http.deploy-body-limit = 256KiB
    burst.http.deploy-bodies-limit = 1MiB
    """

  private val large = 250_000

  /** Takes a large body in, but for its last byte, while others of its namespace wait for its memory and
    * something else is done.
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

  test("two namespaces do not have all of the memory for flares, nor one that for deploys"):
    val (first, second, third) = (namespace("f1"), namespace("f2"), namespace("f3"))
    holding("POST", first, 1):
      holding("POST", second, 1):
        raw(c => refused(c.send(asked("POST", third, large) + "x" * large).reply(), 400, "not valid JSON"))
    holding("PUT", first, 3):
      raw(c => refused(c.send(asked("PUT", third, large) + "x" * large).reply(), 400, "not valid JSON"))

  test("a body that is being taken in is not broken off by one that begins later, which waits"):
    Vector("POST", "PUT").foreach: method =>
      raw: first =>
        first.send(asked(method, credentials, large, "Expect: 100-continue\r\n"))
        first.interim()
        first.send("x" * 1000)
        raw: second =>
          second.send(asked(method, credentials, large, "Expect: 100-continue\r\n"))
          // Meanwhile it has come to where it waits, as a rule.
          assertEquals(send("GET", bursts).status, 200)
          refused(first.send("x" * (large - 1000)).reply(), 400, "not valid JSON")
          second.interim()
          refused(second.send("x" * large).reply(), 400, "not valid JSON")

  test("a small body does not wait for large ones to go, of its own namespace neither"):
    holding("POST", credentials, 1):
      raw: c =>
        refused(c.send(asked("POST", credentials, 40_000) + "x" * 40_000).reply(), 400, "not valid JSON")

  test("what inputs become by the parameters under them counts as well"):
    deploy("padded", s""","parameters":{"pad":"${"x" * 1000}"}""")
    def many() =
      send("POST", s"$bursts/padded", Some(s"""{"params":[${Vector.fill(200)("{}").mkString(",")}]}"""))
    holding("POST", credentials, 0):
      val replies = Iterator.continually(many()).take(1000)
      assert(replies.exists(_.status == 503), "200 KB more were taken into a share of 256 KiB")
      assertEquals(send("POST", s"$bursts/padded", Some("""{"params":[{},{}]}""")).status, 202)
    assert(Iterator.continually(many()).take(1000).exists(_.status == 202))
