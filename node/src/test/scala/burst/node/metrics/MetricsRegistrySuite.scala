package burst.node.metrics

import burst.node.metrics.Seconds.timing
import munit.FunSuite

class MetricsRegistrySuite extends FunSuite:
  private def lines(registry: MetricsRegistry): Vector[String] =
    String(registry.text(), "UTF-8").linesIterator.toVector

  test("counted, set, read and timed values are shown, and label values are escaped"):
    val registry = MetricsRegistry()
    registry.counter("calls", "Calls.", "by").labelValues("a\"b\n}c 1").inc()
    registry.gauge("depth", "Depth.").set(2)
    registry.readGauge("width", "Width.", "of")(_.call(3, "x"))
    val times = registry.histogram("times", "Times.", Seq(1, 10)).labelValues()
    val _ = times.timing("work")
    val _ = intercept[IllegalStateException](times.timing(throw IllegalStateException("broken")))
    val shown = lines(registry)
    for line <- Seq(
        """calls_total{by="a\"b\n}c 1"} 1.0""",
        "depth 2.0",
        """width{of="x"} 3.0""",
        """times_bucket{le="1.0"} 2""",
        "times_count 2"
      )
    do assert(shown.contains(line), s"$line is not in\n${shown.mkString("\n")}")

  test("a process exports its heap, threads and files, but not which JVM it runs on"):
    val shown = lines(MetricsRegistry.ofProcess())
    def value(name: String): Double = shown
      .collectFirst { case s"$of $value" if of == name => value.toDouble }
      .getOrElse(fail(s"$name is not in\n${shown.mkString("\n")}"))
    for name <- Seq(
        """jvm_memory_used_bytes{area="heap"}""",
        """jvm_memory_max_bytes{area="heap"}""",
        "jvm_threads_current",
        "process_cpu_seconds_total",
        "process_open_fds",
        "process_start_time_seconds"
      )
    do assert(value(name) > 0, name)
    assert(value("process_start_time_seconds") < System.currentTimeMillis / 1e3)
    assert(shown.exists(_.startsWith("jvm_gc_collections_total{gc=")))
    assert(!shown.exists(_.contains(System.getProperty("java.vm.vendor"))))
