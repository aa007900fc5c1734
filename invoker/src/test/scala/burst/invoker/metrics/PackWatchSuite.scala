package burst.invoker.metrics

import burst.node.metrics.MetricsRegistry
import burst.protocol.{Failure, FailureKind, PackStart}

class PackWatchSuite extends munit.FunSuite:
  test("the first report of a pack's end counts, and later ones are ignored"):
    val registry = MetricsRegistry()
    val metrics = InvokerMetrics(registry)
    val broken = metrics.begins(PackStart.Prewarmed, workers = 2)
    val ran = metrics.begins(PackStart.Warm, workers = 3)
    // The warm pack turned out dead, and another container took its place.
    ran.ready(PackStart.Cold)
    ran.ready(PackStart.Warm)
    broken.ended(Some(Failure(FailureKind.Internal, "the invoker failed; see its log")))
    for watch <- Seq(broken, ran) do
      watch.ended(None)
      watch.ready(PackStart.Warm)
      watch.ended(Some(Failure(FailureKind.StartFailed, "late")))
    val shown = String(registry.text(), "UTF-8")
    for line <- Seq(
        """burst_invoker_packs{state="starting"} 0.0""",
        """burst_invoker_packs{state="running"} 0.0""",
        "burst_invoker_busy_slots 0.0",
        """burst_invoker_starts_total{outcome="failed",start="prewarmed"} 1.0""",
        """burst_invoker_starts_total{outcome="aborted",start="prewarmed"} 0.0""",
        """burst_invoker_starts_total{outcome="ready",start="cold"} 1.0""",
        """burst_invoker_starts_total{outcome="ready",start="warm"} 0.0""",
        """burst_invoker_start_seconds_count{start="cold"} 1"""
      )
    do assert(shown.linesIterator.contains(line), s"$line is not in\n$shown")
