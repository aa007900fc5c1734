package burst.invoker.pack

import burst.node.traces.{EndedSpan, SpanKeys, SpanSink}
import burst.protocol.*
import scala.collection.mutable
import scala.concurrent.duration.DurationInt

/** The spans that packs record in their flares' traces. */
class PackSpansSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private final class Recorded extends SpanSink:
    val spans: mutable.Buffer[EndedSpan] = mutable.Buffer.empty
    def isOn: Boolean = true
    def begin(parent: Option[TraceContext]): Option[TraceContext] = parent
    def ended(span: EndedSpan): Unit = spans += span

  private final class Setup(origin: Option[Origin], phases: Int = 100, isOn: Boolean = true):
    val invoker: Recorded = Recorded()
    val runtime: Recorded = Recorded()

    /** The time in microseconds, as all times here. */
    var now: Long = 100
    private val sinks = if isOn then PackSpanSinks(invoker, runtime, phases) else PackSpanSinks.Off
    private val assignment = PackAssignment(
      FlareId.random(),
      attempt = 2,
      DefinitionRef("guest", "hello", "0.0.1", PackageId.of(Array[Byte](1))),
      pack = PackId(1),
      packSizes = Vector(3, 2),
      Inputs.Shared(JsonText("7")),
      BackendConfig("direct", None, None),
      Secret.random(),
      timeLeft = 1.milli,
      memory = 128,
      autostart = false,
      origin = origin
    )
    val spans: PackSpans = PackSpans(assignment, sinks, "i7", () => Timestamp.ofMicros(now))
    def of(name: String): EndedSpan =
      (invoker.spans ++ runtime.spans).find(_.name == name).getOrElse(fail(s"no span $name"))

  private val flare = TraceContext.of("a" * 32, "b" * 16, sampled = true)
  private val origin = Some(Origin("request1", Some(flare)))

  test("a pack's span contains its start and run, its workers and their phases"):
    val setup = Setup(origin)
    import setup.spans
    setup.now = 200
    spans.ready(PackStart.Warm)
    setup.now = 1000
    spans.record(Vector(
      PackEvent.Ready(None, Timestamp.ofMicros(190)),
      PackEvent.WorkerStarted(3, Timestamp.ofMicros(210)),
      PackEvent.Phase(3, "read", Timestamp.ofMicros(300)),
      PackEvent.Phase(3, "sort", Timestamp.ofMicros(400)),
      // A worker of another pack.
      PackEvent.WorkerStarted(1, Timestamp.ofMicros(210)),
      PackEvent.WorkerStarted(4, Timestamp.ofMicros(220)),
      PackEvent.WorkerSucceeded(3, "secret", Timestamp.ofMicros(500)),
      PackEvent.WorkerFailed(4, Failure(FailureKind.Panic, "secret"), Timestamp.ofMicros(600))
    ))
    spans.ended(Some(Failure(FailureKind.Panic, "secret")))
    assertEquals(setup.invoker.spans.map(_.name).toVector, Vector("pack", "start", "run"))
    assertEquals(setup.runtime.spans.map(_.name).toVector, Vector("read", "sort", "worker", "worker"))
    val (pack, start, run) = (setup.of("pack"), setup.of("start"), setup.of("run"))
    assertEquals(
      (pack.parent, pack.start.micros, pack.end.micros, pack.error),
      (Some("b" * 16), 100L, 1000L, Some("panic"))
    )
    assertEquals(
      (start.parent, start.start.micros, start.end.micros),
      (Some(pack.context.spanId), 100L, 200L)
    )
    assertEquals((run.parent, run.start.micros, run.end.micros), (Some(pack.context.spanId), 200L, 1000L))
    assertEquals(start.attributes.get(SpanKeys.Start), "warm")
    val Seq(third, fourth) = setup.runtime.spans.filter(_.name == "worker").toSeq: @unchecked
    assertEquals(
      (third.parent, third.start.micros, third.end.micros, third.error),
      (Some(run.context.spanId), 210L, 500L, None)
    )
    assertEquals((fourth.start.micros, fourth.end.micros, fourth.error), (220L, 600L, Some("panic")))
    val (read, sort) = (setup.of("read"), setup.of("sort"))
    assertEquals((read.parent, read.start.micros, read.end.micros), (Some(third.context.spanId), 300L, 400L))
    assertEquals((sort.parent, sort.start.micros, sort.end.micros), (Some(third.context.spanId), 400L, 500L))
    val all = setup.invoker.spans ++ setup.runtime.spans
    assertEquals(all.map(_.context.traceId).toSet, Set("a" * 32))
    assertEquals(all.map(_.context.spanId).toSet.size, all.size)
    assert(!all.toString.contains("secret"))
    // The span ids that the workers received.
    assertEquals(
      spans.workers,
      Some(WorkerSpans("a" * 32, sampled = true, Vector(third.context.spanId, fourth.context.spanId)))
    )

  test("times from a runtime with another clock are kept within the pack's own"):
    val setup = Setup(origin)
    import setup.spans
    setup.now = 200
    spans.ready(PackStart.Cold)
    setup.now = 300
    spans.record(Vector(
      PackEvent.WorkerStarted(3, Timestamp.ofMicros(5)),
      PackEvent.WorkerSucceeded(3, "", Timestamp.ofMicros(9000))
    ))
    val worker = setup.of("worker")
    assertEquals((worker.start.micros, worker.end.micros), (200L, 300L))

  test("a pack that does not come up has a failed start and no run, and is recorded once"):
    val setup = Setup(origin)
    val failure = Some(Failure(FailureKind.StartFailed, "no room"))
    setup.spans.ended(failure)
    setup.spans.ended(failure)
    assertEquals(setup.invoker.spans.map(_.name).toVector, Vector("pack", "start"))
    assertEquals(setup.of("start").error, Some("start-failed"))

  test("workers that do not report their end get that of their pack, with its reason"):
    val setup = Setup(origin)
    setup.spans.ready(PackStart.Cold)
    setup.spans.record(Vector(PackEvent.WorkerStarted(3, Timestamp.ofMicros(100))))
    setup.now = 700
    setup.spans.ended(Some(Failure(FailureKind.OutOfMemory, "killed")))
    val worker = setup.of("worker")
    assertEquals((worker.end.micros, worker.error), (700L, Some("out-of-memory")))

  test("phases beyond the limit are left out, and their number is recorded"):
    val setup = Setup(origin, phases = 10)
    setup.spans.ready(PackStart.Cold)
    setup.spans.record(PackEvent.WorkerStarted(
      3,
      Timestamp.ofMicros(100)
    ) +: Vector.fill(50)(PackEvent.Phase(3, "x", Timestamp.ofMicros(100))))
    setup.spans.ended(None)
    assertEquals(setup.runtime.spans.count(_.name == "x"), 10)
    assertEquals(setup.of("pack").attributes.get(SpanKeys.LeftOut).toInt, 40)

  test("an unsampled trace is passed on and not recorded"):
    val unsampled = TraceContext.of("a" * 32, "b" * 16, sampled = false)
    val setup = Setup(Some(Origin("request1", Some(unsampled))))
    setup.spans.ready(PackStart.Cold)
    setup.spans.ended(None)
    assertEquals(setup.invoker.spans.size, 0)
    assertEquals(setup.spans.workers.map(_.sampled), Some(false))

  test("with traces off programs continue the flare's span, and without a trace they have none"):
    assertEquals(
      Setup(origin, isOn = false).spans.workers,
      Some(WorkerSpans("a" * 32, sampled = true, Vector.fill(2)("b" * 16)))
    )
    assertEquals(Setup(None).spans.workers, None)
    assertEquals(Setup(Some(Origin("request1"))).spans.workers, None)
