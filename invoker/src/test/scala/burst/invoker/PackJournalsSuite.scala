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
    val journal = journals()
    val reports = Vector(
      report(log("a")),
      report(PackEvent.WorkerStarted(0, Timestamp.ofMicros(1))),
      report(log("b"))
    ).map(journal.add)
    assertEquals(reports.map(_.number), Vector(Some(1L), Some(2L), Some(3L)))
    assertEquals(journal.reports(pack), reports)
    journal.stored(pack, 1)
    assertEquals(journal.reports(pack), reports.drop(1))

  test("of stored reports, the events that show a pack's progress are kept"):
    val journal = journals()
    val expected = Vector(
      PackEvent.Ready(Some("h:1"), Timestamp.ofMicros(1)),
      PackEvent.WorkerStarted(0, Timestamp.ofMicros(2)),
      PackEvent.WorkerSucceeded(0, "", Timestamp.ofMicros(3)),
      PackEvent.PackEnded(true, None, Timestamp.ofMicros(4))
    )
    journal.add(report(expected(0), log("a"), PackEvent.Phase(0, "map", Timestamp.ofMicros(1)), expected(1)))
    journal.add(report(PackEvent.Output(0, "[1,")))
    journal.add(report(PackEvent.WorkerSucceeded(0, "2]", Timestamp.ofMicros(3)), expected(3)))
    journal.stored(pack, 3)
    assertEquals(journal.reports(pack).flatMap(_.events), expected)

  test("outputs are kept until their worker has ended, as they are only collected before"):
    val journal = journals()
    val piece = PackEvent.Output(0, "[1,")
    journal.add(report(piece))
    journal.stored(pack, 1)
    assertEquals(journal.reports(pack).flatMap(_.events), Vector(piece))
    journal.add(report(PackEvent.WorkerSucceeded(0, "2]", Timestamp.ofMicros(3))))
    journal.stored(pack, 1)
    assertEquals(journal.reports(pack).flatMap(_.events).head, piece)
    journal.stored(pack, 2)
    assertEquals(
      journal.reports(pack).flatMap(_.events),
      Vector(PackEvent.WorkerSucceeded(0, "", Timestamp.ofMicros(3)))
    )

  test("a pack that exceeds the limit keeps only its end, and takes no room"):
    val journal = journals(limit = 1000)
    val other = pack.copy(pack = PackId(1))
    journal.begin(other)
    journal.add(report(log("x" * 600)))
    assertEquals(journal.partial, Vector.empty)
    assertEquals(journal.add(report(log("x" * 600))).number, Some(2L))
    assertEquals((journal.held, journal.partial), (Vector(pack, other), Vector(pack)))
    journal.add(report().copy(pack = PackId(1), events = Vector(log("x" * 900))))
    assertEquals(journal.partial, Vector(pack))
    val end = PackEvent.PackEnded(false, None, Timestamp.ofMicros(1))
    journal.add(report(log("a"), end))
    assertEquals(journal.reports(pack).map(it => (it.number, it.events)), Vector((Some(3L), Vector(end))))

  test("events without text take room, too"):
    val journal = journals(limit = 1000)
    for _ <- 1 to 100 do journal.add(report(PackEvent.WorkerStarted(0, Timestamp.ofMicros(1))))
    assertEquals(journal.partial, Vector(pack))

  test("a new attempt replaces the previous one"):
    val journal = journals()
    journal.add(report(log("a")))
    journal.begin(pack.copy(attempt = 2))
    assertEquals(journal.held, Vector(pack.copy(attempt = 2)))
    assertEquals(journal.reports(pack), Vector.empty)

  test("stored reports make room, and so do packs that are over"):
    val journal = journals(limit = 1000)
    for _ <- 1 to 10 do
      journal.add(report(log("x" * 600)))
      journal.stored(pack, Long.MaxValue)
    journal.add(report(log("x" * 600)))
    journal.remove(pack)
    journal.begin(pack)
    journal.add(report(log("x" * 900)))
    assertEquals((journal.held, journal.partial), (Vector(pack), Vector.empty))

  test("reports of packs that are over have no numbers"):
    val journal = journals()
    journal.remove(pack)
    assertEquals(journal.add(report(log("a"))).number, None)
    assertEquals(journal.reports(pack), Vector.empty)
