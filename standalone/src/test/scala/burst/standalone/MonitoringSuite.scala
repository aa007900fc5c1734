package burst.standalone

import munit.FunSuite

class MonitoringSuite extends FunSuite:
  private val exported = Exported.of("""# TYPE packs gauge
                                       |packs{state="warm"} 1.0
                                       |packs{state="cold"} 2.0
                                       |slots NaN
                                       |times_seconds_bucket{kind="a b\"}c",le="+Inf"} 3
                                       |requests_total{status="200"} 4.0
                                       |""".stripMargin)

  private def faults(text: String, shown: String*): Vector[String] =
    Expression("x", text, shown.toSet).faults(exported).map(_.stripPrefix("x: "))

  test("exported metrics can be queried in any form"):
    for text <- Seq(
        """max by (state) (packs{state=~"warm|cold",job="j"} offset 5m) / on() group_left () (slots > 1e9)""",
        """histogram_quantile(0.95, sum by(le, kind)(rate(times_seconds_bucket{kind="a b\"}c"}[$__rate_interval])))""",
        """up{job=~"burst.*"} == 0 or sum without (instance) (requests_total{status!~"500|503"}) unless slots"""
      )
    do assertEquals(faults(text), Vector.empty)
    assertEquals(faults("sum by (state, instance) (packs)", "state", "instance"), Vector.empty)
    assertEquals(faults("packs", "state", "instance"), Vector.empty)

  test("a metric, a label or a value that is not exported is reported"):
    assertEquals(faults("sum(rate(pcks[5m])) / slots"), Vector("pcks is not exported"))
    assertEquals(faults("slots and pcks"), Vector("pcks is not exported"))
    assertEquals(faults("""slots{state="warm"}"""), Vector("slots has no label state"))
    assertEquals(faults("""packs{state=~"warm|hot"}"""), Vector("packs has no state hot"))
    assertEquals(faults("max by (stat) (packs)"), Vector("nothing has the label stat"))
    assertEquals(faults("max by (instance) (packs)", "state"), Vector("there is no state to show"))
    assertEquals(faults("slots", "state"), Vector("there is no state to show"))

  test("dashboards and panels have unique ids, and each panel has a description and a unit"):
    val dashboards = Monitoring.dashboards
    assert(dashboards.nonEmpty)
    val names = dashboards.map(_.hcursor.get[String]("uid").fold(throw _, identity))
    assertEquals(names.distinct, names)
    for (dashboard, name) <- dashboards.zip(names) do
      // Grafana assigns one.
      assertEquals(dashboard.hcursor.get[Option[Int]]("id"), Right(None), name)
      val panels = Monitoring.panels(dashboard).map(_.hcursor)
      val ids = panels.map(_.get[Int]("id").fold(throw _, identity))
      assertEquals(ids.distinct, ids, name)
      for panel <- panels do
        val title = panel.get[String]("title").fold(throw _, identity)
        assert(panel.get[String]("description").exists(_.endsWith(".")), title)
        val unit = panel.downField("fieldConfig").downField("defaults").get[String]("unit")
        assert(unit.exists(_.nonEmpty), title)
        val source = panel.downField("datasource").get[String]("uid")
        assertEquals(source, Right("${datasource}"), title)
