package burst.controller.http

import burst.controller.RecordedSpans
import burst.controller.RecordedSpans.tells
import burst.node.traces.{SpanKeys, SpanSink}
import burst.protocol.{Origin, TraceContext}
import io.opentelemetry.api.trace.SpanKind

class RequestTracesSuite extends HttpSuite:
  private val recorded = RecordedSpans()
  override protected def spans: SpanSink = recorded

  override def beforeAll(): Unit =
    super.beforeAll()
    service.reset()
    assertEquals(send("PUT", s"$bursts/hello", deployment()).status, 200)

  override def beforeEach(context: BeforeEach): Unit =
    super.beforeEach(context)
    recorded.forget()

  private val client = TraceContext.of("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", sampled = true)

  private def flare(headers: (String, String)*)(using munit.Location): Origin =
    val reply = send("POST", s"$bursts/hello", Some("""{"size":1}"""), headers = headers.toMap)
    assertEquals(reply.status, 202, reply.body)
    service.last.get.flatMap(_.origin).getOrElse(fail("the flare has no origin"))

  test("a request continues its client's trace, and what it begins continues the request's"):
    val origin = flare("traceparent" -> client.traceparent, "X-Request-Id" -> "own-1")
    val span = recorded.all match
      case Vector(one) => one
      case others => fail(s"not one span: $others")
    assertEquals(span.name, "POST /api/v1/namespaces/{namespace}/bursts/{name}")
    assertEquals(span.kind, SpanKind.SERVER)
    assertEquals((span.context.traceId, span.parent), (client.traceId, Some(client.spanId)))
    assertEquals(origin, Origin("own-1", Some(span.context)))
    assertEquals(span.tells(SpanKeys.Status), Some(java.lang.Long.valueOf(202)))
    assertEquals(span.tells(SpanKeys.Transaction), Some("own-1"))
    assert(span.start <= span.end)

  test("a trace that its client does not sample gets no span, and is passed on"):
    val unsampled = TraceContext.of(client.traceId, client.spanId, sampled = false)
    val origin = flare("traceparent" -> unsampled.traceparent)
    assertEquals(origin.trace.map(own => (own.traceId, own.sampled)), Some((client.traceId, false)))
    assertEquals(recorded.all, Vector.empty)

  test("an invalid trace header begins a new trace and does no harm"):
    val hostile = Seq("", "00-0-0-0", client.traceparent + "-x", "a" * 4000, s"00-${"0" * 32}-${"0" * 16}-01")
    for value <- hostile do
      val origin = flare("traceparent" -> value)
      assertEquals(origin.trace.map(_.traceId), Some("c" * 32), value)
    assertEquals(recorded.all.map(_.parent).distinct, Vector(None))

  test("frequent requests are not traced, and neither are undocumented ones"):
    send("GET", "/ping", auth = None): Unit
    send("GET", "/api/v1", auth = None): Unit
    send("GET", "/no/such/path", auth = None): Unit
    assertEquals(recorded.all, Vector.empty)

  test("a refusal is a span without an error, unless the platform is at fault"):
    send("GET", s"$bursts/missing", auth = Some("nobody:nothing")): Unit
    assertEquals(
      recorded.all.map(span => (span.tells(SpanKeys.Status).map(_.toInt), span.error)),
      Vector((Some(401), None))
    )
