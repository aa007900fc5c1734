package burst.invoker

import burst.protocol.*

class PackJournalsSuite extends munit.FunSuite:
  private val flare = FlareId.random()
  private val pack = PackKey(flare, 1, PackId(0))

  private def report(events: PackEvent*) =
    PackReport(flare, 1, PackId(0), InvokerId("i"), None, events.toVector)

  private def log(text: String) = PackEvent.Log(None, LogStream.Stdout, text, Timestamp.ofMicros(1))

  private def journals(limit: Long = 10_000): PackJournals =
    val made = PackJournals(limit)
    made.begin(pack)
    made

  test("reports are numbered, and kept until they are stored"):
    val kept = journals()
    val told = Vector(
      report(log("a")),
      report(PackEvent.WorkerStarted(0, Timestamp.ofMicros(1))),
      report(log("b"))
    ).map(kept.add)
    assertEquals(told.map(_.number), Vector(Some(1L), Some(2L), Some(3L)))
    assertEquals(kept.told(pack), told)
    kept.stored(pack, 1)
    assertEquals(kept.told(pack), told.drop(1))

  test("of stored reports, the events that show a pack's progress are kept"):
    val kept = journals()
    val expected = Vector(
      PackEvent.Ready(Some("h:1"), Timestamp.ofMicros(1)),
      PackEvent.WorkerStarted(0, Timestamp.ofMicros(2)),
      PackEvent.WorkerSucceeded(0, "", Timestamp.ofMicros(3)),
      PackEvent.PackEnded(true, None, Timestamp.ofMicros(4))
    )
    kept.add(report(expected(0), log("a"), PackEvent.Phase(0, "map", Timestamp.ofMicros(1)), expected(1)))
    kept.add(report(PackEvent.Output(0, "[1,")))
    kept.add(report(PackEvent.WorkerSucceeded(0, "2]", Timestamp.ofMicros(3)), expected(3)))
    kept.stored(pack, 3)
    assertEquals(kept.told(pack).flatMap(_.events), expected)

  test("outputs are kept until their worker has ended, as they are only collected before"):
    val kept = journals()
    val piece = PackEvent.Output(0, "[1,")
    kept.add(report(piece))
    kept.stored(pack, 1)
    assertEquals(kept.told(pack).flatMap(_.events), Vector(piece))
    kept.add(report(PackEvent.WorkerSucceeded(0, "2]", Timestamp.ofMicros(3))))
    kept.stored(pack, 1)
    assertEquals(kept.told(pack).flatMap(_.events).head, piece)
    kept.stored(pack, 2)
    assertEquals(
      kept.told(pack).flatMap(_.events),
      Vector(PackEvent.WorkerSucceeded(0, "", Timestamp.ofMicros(3)))
    )

  test("a pack that exceeds the limit keeps only its end, and takes no room"):
    val kept = journals(limit = 1000)
    val other = pack.copy(pack = PackId(1))
    kept.begin(other)
    kept.add(report(log("x" * 600)))
    assertEquals(kept.partial, Vector.empty)
    assertEquals(kept.add(report(log("x" * 600))).number, Some(2L))
    assertEquals((kept.held, kept.partial), (Vector(pack, other), Vector(pack)))
    kept.add(report().copy(pack = PackId(1), events = Vector(log("x" * 900))))
    assertEquals(kept.partial, Vector(pack))
    val end = PackEvent.PackEnded(false, None, Timestamp.ofMicros(1))
    kept.add(report(log("a"), end))
    assertEquals(kept.told(pack).map(told => (told.number, told.events)), Vector((Some(3L), Vector(end))))

  test("events without text take room, too"):
    val kept = journals(limit = 1000)
    for _ <- 1 to 100 do kept.add(report(PackEvent.WorkerStarted(0, Timestamp.ofMicros(1))))
    assertEquals(kept.partial, Vector(pack))

  test("a new attempt replaces the previous one"):
    val kept = journals()
    kept.add(report(log("a")))
    kept.begin(pack.copy(attempt = 2))
    assertEquals(kept.held, Vector(pack.copy(attempt = 2)))
    assertEquals(kept.told(pack), Vector.empty)

  test("stored reports make room, and so do packs that are over"):
    val kept = journals(limit = 1000)
    for _ <- 1 to 10 do
      kept.add(report(log("x" * 600)))
      kept.stored(pack, Long.MaxValue)
    kept.add(report(log("x" * 600)))
    kept.over(pack)
    kept.begin(pack)
    kept.add(report(log("x" * 900)))
    assertEquals((kept.held, kept.partial), (Vector(pack), Vector.empty))

  test("reports of packs that are over have no numbers"):
    val kept = journals()
    kept.over(pack)
    assertEquals(kept.add(report(log("a"))).number, None)
    assertEquals(kept.told(pack), Vector.empty)
