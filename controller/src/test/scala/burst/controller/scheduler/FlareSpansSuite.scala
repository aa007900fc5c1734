package burst.controller.scheduler

import burst.controller.RecordedSpans
import burst.controller.RecordedSpans.tells
import burst.controller.flare.{FlareRequest, FlareState}
import burst.node.traces.SpanKeys
import burst.protocol.{FailureKind, GroupRole, Origin, PackEvent, Timestamp, TraceContext}
import scala.concurrent.duration.DurationInt

/** The spans that flares record. */
class FlareSpansSuite extends SchedulerFixture:
  private val request = TraceContext.of("a" * 32, "b" * 16, sampled = true)
  private def traced(request: FlareRequest, from: TraceContext): FlareRequest =
    request.copy(origin = Some(Origin("request1", Some(from))))

  test("a flare and its waits belong to its request's trace, and packs receive its span"):
    val spans = RecordedSpans()
    val world = World(spans = spans)
    val a = world.invoker("a", 4)
    val first = world.submit(traced(Samples.request(4), request))
    val end = world.await(first.id)
    val pack = a.prepared()
    val flare = first.id.value.take(16)
    assertEquals(pack.assignment.origin, Some(Origin("request1", Some(request.at(flare)))))
    // A second flare has to wait.
    val second = world.submit(traced(Samples.request(2), request.at("c" * 16)))
    val secondEnd = world.await(second.id)
    world.pass(5.seconds)
    a.succeed(pack)
    world.ended(end)
    a.succeed(a.prepared())
    assertEquals(world.ended(secondEnd).state, FlareState.Succeeded)
    val own = spans.all.filter(_.tells(SpanKeys.Flare).contains(first.id.value))
    assertEquals(own.map(_.name), Vector("queue", "placement", "flare"))
    assertEquals(own.map(_.context.traceId).distinct, Vector(request.traceId))
    assertEquals(own.map(_.parent), Vector(Some(flare), Some(flare), Some(request.spanId)))
    val whole = own.last
    assertEquals(whole.context.spanId, flare)
    assertEquals(whole.error, None)
    assertEquals(whole.tells(SpanKeys.Size), Some(java.lang.Long.valueOf(4)))
    assertEquals(whole.tells(SpanKeys.State), Some("succeeded"))
    assertEquals(whole.tells(SpanKeys.Transaction), Some("request1"))
    assertEquals(whole.end - whole.start, 5.seconds)
    val waited = spans.of("queue").find(_.tells(SpanKeys.Flare).contains(second.id.value)).get
    assertEquals(waited.end - waited.start, 5.seconds)

  test("each attempt has its own wait, and the flare's span reports only the kind of failure"):
    val spans = RecordedSpans()
    val world = World(spans = spans)
    val a = world.invoker("a", 2)
    val end = world.await(world.submit(traced(Samples.request(1, retries = 1), request)).id)
    for _ <- 1 to 2 do
      val pack = a.prepared()
      a.fail(pack, 0, FailureKind.Panic)
      a.aborted()
      a.end(pack)
    world.ended(end): Unit
    assertEquals(
      spans.of("queue").flatMap(_.tells(SpanKeys.Attempt)).map(_.toInt),
      Vector(1, 2)
    )
    assertEquals(spans.of("flare").map(_.error), Vector(Some("panic")))

  test("a flare that never got its slots waited until its end"):
    val spans = RecordedSpans()
    val world = World(spans = spans)
    world.invoker("a", 1)
    world.submit(Samples.request(1)): Unit
    val waiting = world.submit(traced(Samples.request(1), request))
    val end = world.await(waiting.id)
    world.cancel(waiting.id): Unit
    world.ended(end): Unit
    assertEquals(spans.all.map(_.name), Vector("queue", "flare"))
    assertEquals(spans.of("flare").flatMap(_.error), Vector("cancelled"))

  test("a closed group is no error"):
    val spans = RecordedSpans()
    val world = World(spans = spans)
    val a = world.invoker("a", 2)
    val group = Samples.request(1).copy(group = Some(GroupRole.Holder(60.seconds)))
    val opened = world.submit(traced(group, request))
    val end = world.await(opened.id)
    val pack = a.prepared()
    a.ready(pack)
    world.cancel(opened.id): Unit
    a.aborted()
    a.report(pack, PackEvent.PackEnded(reusable = false, None, Timestamp.ofMicros(4)))
    world.ended(end): Unit
    assertEquals(spans.of("flare").map(_.error), Vector(None))

  test("a flare without a sampled trace records no spans"):
    val spans = RecordedSpans()
    val world = World(spans = spans)
    val a = world.invoker("a", 2)
    val unsampled = TraceContext.of("a" * 32, "b" * 16, sampled = false)
    for wanted <- Seq(Samples.request(1), traced(Samples.request(1), unsampled)) do
      val end = world.await(world.submit(wanted).id)
      a.succeed(a.prepared())
      world.ended(end): Unit
    assertEquals(spans.all, Vector.empty)
