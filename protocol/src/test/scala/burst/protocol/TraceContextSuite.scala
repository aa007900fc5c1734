package burst.protocol

import io.circe.parser.decode
import io.circe.syntax.*

class TraceContextSuite extends munit.FunSuite:
  private val trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private val span = "00f067aa0ba902b7"

  test("a trace context is parsed as it was written"):
    for sampled <- Seq(true, false) do
      val context = TraceContext.of(trace, span, sampled)
      assertEquals(TraceContext.parse(context.traceparent), Some(context))
      assertEquals(decode[TraceContext](context.asJson.noSpaces), Right(context))

  test("an invalid trace context is refused"):
    val bad = Seq(
      "",
      s"00-$trace-$span",
      s"00-$trace-$span-1",
      s"00-${trace.toUpperCase}-$span-01",
      s"00-${"0" * 32}-$span-01",
      s"00-$trace-${"0" * 16}-01",
      s"ff-$trace-$span-01",
      s"00-$trace-$span-01-more"
    )
    bad.foreach(text => assertEquals(TraceContext.parse(text), None, text))

  test("a flare's span is the same for everyone, and part of the request's trace"):
    val id = FlareId.random()
    val origin = Origin("request1", Some(TraceContext.of(trace, span, sampled = true)))
    assertEquals(origin.ofFlare(id), Some(TraceContext.of(trace, id.value.take(16), sampled = true)))
    assertEquals(Origin("request1").ofFlare(id), None)
    assertEquals(decode[Origin](origin.asJson.noSpaces), Right(origin))
    assertEquals(decode[Origin]("""{"transaction":"request1"}"""), Right(Origin("request1")))
