package burst.controller.metrics

import burst.controller.flare.FlareState
import burst.node.metrics.MetricsRegistry
import burst.protocol.*
import munit.FunSuite
import scala.concurrent.duration.DurationInt

class FlareMetricsSuite extends FunSuite:
  private def definition(namespace: String, name: String) =
    DefinitionRef(namespace, name, "0.0.1", PackageId.of(Array[Byte](1)))

  private def shown(registry: MetricsRegistry): Vector[String] =
    String(registry.text(), "UTF-8").linesIterator.filterNot(_.startsWith("#")).toVector

  private def ends(metrics: FlareMetrics, namespace: String, name: String): Unit =
    metrics.of(definition(namespace, name)).ended(FlareState.Succeeded, None, Some(1500.millis))

  test("namespaces are not named unless the settings ask for it"):
    val registry = MetricsRegistry()
    val metrics = FlareMetrics(registry, MetricsSettings.Plain)
    val before = shown(registry).size
    for i <- 1 to 100 do ends(metrics, s"tenant-$i", s"secret-$i")
    val lines = shown(registry)
    assertEquals(lines.size, before)
    assert(!lines.exists(line => line.contains("tenant") || line.contains("secret")))
    assert(lines.contains("""burst_flare_results_total{result="succeeded"} 100.0"""), lines.mkString("\n"))
    assert(lines.contains("""burst_flare_run_seconds_bucket{le="2.5"} 100"""), lines.mkString("\n"))
    assert(lines.contains("""burst_flare_run_seconds_bucket{le="1.0"} 0"""), lines.mkString("\n"))

  test("the first namespaces and definitions get their own series, and the others share one"):
    val registry = MetricsRegistry()
    val metrics = FlareMetrics(registry, MetricsSettings(byNamespace = true, namespaces = 2, definitions = 3))
    for tenant <- 1 to 50; work <- 1 to 50 do ends(metrics, s"n$tenant", s"w$work")
    // A series that exists is kept.
    for _ <- 1 to 7 do ends(metrics, "n2", "w3")
    // Nobody reaches the shared series by naming a definition after it.
    ends(metrics, "n1", "other")
    val results = shown(registry).collect:
      case s"""burst_flare_results_total{definition="$name",namespace="$of",result="succeeded"} $count""" =>
        (of, name) -> count.toDouble.toInt
    assertEquals(
      results.toMap,
      Map(
        ("n1", "w1") -> 1,
        ("n1", "w2") -> 1,
        ("n1", "w3") -> 1,
        ("n1", "other") -> 48,
        ("n2", "w1") -> 1,
        ("n2", "w2") -> 1,
        ("n2", "w3") -> 8,
        ("n2", "other") -> 47,
        ("other", "other") -> 48 * 50
      )
    )

  test("failures are counted by kind, starts by type, and times are never negative"):
    val registry = MetricsRegistry()
    val figures = FlareMetrics(registry, MetricsSettings.Plain).of(definition("a", "b"))
    figures.ended(FlareState.Failed, Some(Failure(FailureKind.OutOfMemory, "too much")), None)
    figures.started(PackStart.Prewarmed, 20.millis)
    figures.waited(-5.micros)
    val lines = shown(registry)
    for line <- Seq(
        """burst_flare_failures_total{kind="out-of-memory"} 1.0""",
        """burst_flare_results_total{result="failed"} 1.0""",
        """burst_flare_start_seconds_sum{start="prewarmed"} 0.02""",
        """burst_flare_start_seconds_count{start="cold"} 0""",
        "burst_flare_queue_seconds_sum 0.0",
        "burst_flare_run_seconds_count 0"
      )
    do assert(lines.contains(line), s"$line is not in\n${lines.mkString("\n")}")
