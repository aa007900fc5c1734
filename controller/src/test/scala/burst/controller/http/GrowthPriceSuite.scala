package burst.controller.http

/** What small bodies cost whose inputs grow by the parameters under them. */
class GrowthPriceSuite extends HttpSuite:
  override def settings = """
    burst.http.flare-bodies-rate = 1KiB
    burst.http.flare-bodies-burst = 1MiB
    """

  test("what inputs become has the price of a body of that size"):
    deploy("padded", s""","parameters":{"pad":"${"x" * 2000}"}""")
    def many() =
      send("POST", s"$bursts/padded", Some(s"""{"params":[${Vector.fill(200)("{}").mkString(",")}]}"""))
    val answers = Vector.fill(10)(many().status)
    // A burst, and another one ahead of its time, of 400 KB each.
    assertEquals(answers, Vector.fill(5)(202) ++ Vector.fill(5)(503))
    assertEquals(send("POST", s"$bursts/padded", Some("""{"params":[{},{}]}""")).status, 202)
