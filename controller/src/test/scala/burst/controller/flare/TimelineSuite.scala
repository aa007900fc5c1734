package burst.controller.flare

import burst.controller.store.Samples
import burst.protocol.{PackId, Timestamp}

/** Times are in microseconds. */
class TimelineSuite extends munit.FunSuite:
  private def flare(placed: Option[Long], ended: Option[Long], workers: WorkerRecord*): Flare =
    Samples.flare(created = 100).copy(
      placed = placed.map(Timestamp.ofMicros),
      ended = ended.map(Timestamp.ofMicros),
      workers = workers.toVector
    )

  private def worker(started: Option[Long], ended: Option[Long]): WorkerRecord =
    WorkerRecord(
      0,
      Some(PackId(0)),
      WorkerState.Running,
      started.map(Timestamp.ofMicros),
      ended.map(Timestamp.ofMicros),
      None
    )

  private def phases(flare: Flare, marks: (String, Long)*): Vector[(String, Long, Option[Long])] =
    Timeline
      .of(flare, marks.map((name, at) => PhaseMark(0, name, Timestamp.ofMicros(at))).toVector)
      .head
      .phases
      .map(p => (p.name, p.start.micros, p.end.map(_.micros)))

  test("a waiting flare is in its invocation phase"):
    assertEquals(phases(flare(None, None, worker(None, None))), Vector(("invocation", 100L, None)))

  test("a flare that was cancelled while it waited ends its invocation phase"):
    assertEquals(phases(flare(None, Some(150), worker(None, None))), Vector(("invocation", 100L, Some(150L))))

  test("a worker that has not begun is starting"):
    assertEquals(
      phases(flare(Some(110), None, worker(None, None))),
      Vector(("invocation", 100L, Some(110L)), ("start", 110L, None))
    )

  test("without marks all time is work"):
    assertEquals(
      phases(flare(Some(110), Some(210), worker(Some(120), Some(200)))),
      Vector(("invocation", 100L, Some(110L)), ("start", 110L, Some(120L)), ("work", 120L, Some(200L)))
    )

  test("a mark lasts until the next one or the end, and the time before the first is work"):
    assertEquals(
      phases(flare(Some(110), None, worker(Some(120), Some(200))), "sort" -> 160, "read" -> 130).drop(2),
      Vector(("work", 120L, Some(130L)), ("read", 130L, Some(160L)), ("sort", 160L, Some(200L)))
    )

  test("a first mark at the start leaves no work phase, and a running worker's last phase is open"):
    assertEquals(
      phases(flare(Some(110), None, worker(Some(120), None)), "read" -> 120).drop(2),
      Vector(("read", 120L, None))
    )

  test("no phase ends before it begins, even if clocks disagree"):
    val found = phases(flare(Some(110), None, worker(Some(90), Some(95))), "read" -> 20, "sort" -> 300)
    assert(found.forall((_, start, end) => end.forall(_ >= start)), found)
    assertEquals(found.map(_(0)), Vector("invocation", "start", "read", "sort"))
