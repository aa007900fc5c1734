package burst.node.traces

import burst.node.SetupException
import burst.node.metrics.MetricsRegistry
import burst.protocol.{Timestamp, TraceContext}
import com.typesafe.config.ConfigFactory
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.api.trace.SpanKind
import io.opentelemetry.proto.trace.v1.{Span, Status}
import java.util.HexFormat
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*

class TracesSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private def config(settings: String) =
    ConfigFactory.parseString(settings).withFallback(ConfigFactory.load())

  private def hex(bytes: com.google.protobuf.ByteString) = HexFormat.of.formatHex(bytes.toByteArray)

  private def withCollector(collector: Collector, settings: String = "")(
      body: (Traces, MetricsRegistry) => Unit
  ): Unit =
    val metrics = MetricsRegistry()
    val traces = Traces.from(config(s"burst.traces.endpoint = \"${collector.endpoint}\"\n$settings"), metrics)
    try body(traces, metrics)
    finally
      traces.close()
      collector.close()

  test("spans arrive as recorded, with their ids"):
    val collector = Collector()
    withCollector(collector, "burst.traces.headers = \"x-key=a%20b\""): (traces, metrics) =>
      val sink = traces.of(TracedService.Controller, "c1")
      val request = sink.begin(None).get
      val flare = request.at("00f067aa0ba902b7")
      sink.ended(EndedSpan(
        flare,
        Some(request.spanId),
        "flare",
        Timestamp.ofMicros(10),
        Timestamp.ofMicros(30),
        Attributes.of(SpanKeys.Size, 8L),
        Some("panic")
      ))
      traces
        .of(TracedService.Runtime, "i1")
        .ended(EndedSpan(
          request,
          None,
          "worker",
          Timestamp.ofMicros(20),
          Timestamp.ofMicros(10),
          kind = SpanKind.SERVER
        ))
      // An unsampled span.
      sink.ended(EndedSpan(
        TraceContext.of("1" * 32, "1" * 16, sampled = false),
        None,
        "other",
        Timestamp.ofMicros(1),
        Timestamp.ofMicros(2)
      ))
      traces.close()
      // They may arrive in several batches.
      var sent = collector.next()
      while sent.flatMap(Collector.spans).size < 2 do sent ++= collector.next()
      assertEquals(sent.map(Collector.service).toSet, Set("burst-controller", "burst-runtime"))
      val spans = sent.flatMap(Collector.spans).map(span => span.getName -> span).toMap
      assertEquals(spans.keySet, Set("flare", "worker"))
      val flareSpan = spans("flare")
      assertEquals(hex(flareSpan.getTraceId), request.traceId)
      assertEquals(hex(flareSpan.getSpanId), "00f067aa0ba902b7")
      assertEquals(hex(flareSpan.getParentSpanId), request.spanId)
      assertEquals((flareSpan.getStartTimeUnixNano, flareSpan.getEndTimeUnixNano), (10_000L, 30_000L))
      assertEquals(flareSpan.getStatus.getCode, Status.StatusCode.STATUS_CODE_ERROR)
      assertEquals(
        flareSpan.getAttributesList.asScala.map(_.getKey).toSet,
        Set("burst.size", "error.type")
      )
      val root = spans("worker")
      assertEquals((hex(root.getSpanId), hex(root.getParentSpanId)), (request.spanId, ""))
      assertEquals(root.getKind, Span.SpanKind.SPAN_KIND_SERVER)
      // An end before the start, as clocks may differ.
      assertEquals((root.getStartTimeUnixNano, root.getEndTimeUnixNano), (20_000L, 20_000L))
      assertEquals(collector.key(), "a b")
      // The collector has the spans before this side knows it.
      def shown = String(metrics.text(), "UTF-8")
      def isCounted = shown.contains("""burst_trace_spans_total{outcome="exported"} 2.0""")
      val deadline = 60.seconds.fromNow
      while !isCounted && deadline.hasTimeLeft() do Thread.onSpinWait()
      assert(isCounted, shown)

  test("a trace continues as its parent decides, and begins as the ratio does"):
    withCollector(Collector(), "burst.traces.ratio = 0"): (traces, _) =>
      val sink = traces.of(TracedService.Controller, "c1")
      assertEquals(sink.begin(None).map(_.sampled), Some(false))
      for sampled <- Seq(true, false) do
        val parent = TraceContext.of("4" * 32, "5" * 16, sampled)
        val child = sink.begin(Some(parent)).get
        assertEquals((child.traceId, child.sampled), (parent.traceId, sampled))
        assertNotEquals(child.spanId, parent.spanId)
    withCollector(Collector()): (traces, _) =>
      assertEquals(traces.of(TracedService.Invoker, "i").begin(None).map(_.sampled), Some(true))

  test("a collector that refuses or does not answer causes no delay or failure"):
    for status <- Seq(400, 500) do
      val collector = Collector(status)
      withCollector(collector): (traces, metrics) =>
        val sink = traces.of(TracedService.Controller, "c1")
        for _ <- 1 to 20_000 do
          sink.ended(EndedSpan(sink.begin(None).get, None, "x", Timestamp.ofMicros(1), Timestamp.ofMicros(2)))
        collector.next()
        traces.close()
        val shown = String(metrics.text(), "UTF-8")
        assert(shown.contains("""burst_trace_spans_total{outcome="exported"} 0.0"""), shown)
        assert(shown.contains("""burst_trace_spans_total{outcome="recorded"} 20000.0"""), shown)

  test("without an endpoint there are no traces"):
    val off = Traces.from(config("burst.traces.endpoint = \"\""), MetricsRegistry())
    assert(!off.of(TracedService.Controller, "c1").isOn)
    assertEquals(off.of(TracedService.Controller, "c1").begin(None), None)

  test("invalid settings stop the start"):
    for (settings, named) <- Seq(
        "endpoint = \"localhost:4318\"" -> "endpoint",
        "endpoint = \"http://x\", ratio = 1.5" -> "ratio",
        "endpoint = \"http://x\", queue = 0" -> "queue",
        "endpoint = \"http://x\", headers = \"secret\"" -> "headers"
      )
    do
      val problem = intercept[SetupException](TracesSettings.from(config(s"burst.traces { $settings }")))
      assert(problem.getMessage.contains(s"burst.traces.$named"), problem.getMessage)
      assert(!problem.getMessage.contains("secret"))

  test("a client's trace context is read in W3C's format, and nothing else is"):
    val good = s"00-${"a" * 32}-${"b" * 16}-01"
    assertEquals(TraceHeader.read(good), Some(TraceContext.of("a" * 32, "b" * 16, sampled = true)))
    assertEquals(TraceHeader.read(good.dropRight(2) + "00").map(_.sampled), Some(false))
    val bad = Seq(
      "",
      "x",
      "00",
      good.drop(1),
      s"00-${"0" * 32}-${"b" * 16}-01",
      s"00-${"a" * 32}-${"0" * 16}-01",
      s"ff-${"a" * 32}-${"b" * 16}-01",
      s"00-${"g" * 32}-${"b" * 16}-01",
      good + "-more",
      good * 1000,
      "\u0000" * 55
    )
    bad.foreach(value => assertEquals(TraceHeader.read(value), None, value.take(80)))
