package burst.invoker

import burst.protocol.*
import scala.collection.mutable

/** What a scheduler that takes over receives of a pack, and when the pack learns that its outputs are stored.
  */
class PackRelaySuite extends munit.FunSuite:
  private val flare = FlareId.random()
  private val pack = PackKey(flare, 1, PackId(0))

  private def report(event: PackEvent) = PackReport(flare, 1, PackId(0), InvokerId("i"), None, Vector(event))
  private def small(text: String) = report(PackEvent.Log(None, LogStream.Stdout, text, Timestamp.ofMicros(1)))
  private val large = report(PackEvent.Output(0, "1" * (PackReport.FreeOutput.toInt + 1)))

  /** A pack that has sent these reports in a session, and a later session with the reports that it is sent.
    */
  private def adopted(reports: PackReport*): (PackRelay, mutable.Buffer[PackReport]) =
    val journals = PackJournals(1 << 20)
    val before = PackRelay(journals, _ => ())
    before.began(pack)
    reports.foreach(report => before.report(journals.add(report)))
    val sent = mutable.Buffer.empty[PackReport]
    val after = PackRelay(
      journals,
      {
        case report: PackReport => sent += report
        case other => fail(s"unexpected: $other")
      }
    )
    after.adopt(pack)
    (after, sent)

  test("stored outputs release the next reports, and the pack is notified if it has sent none since"):
    val (relay, sent) = adopted(small("a"), large)
    assertEquals(sent.size, 2)
    assert(relay.outputStored(flare, PackId(0)))

  test("a pack that waits for its outputs is notified, even if it has sent small reports since"):
    val (relay, sent) = adopted(large, small("a"), small("b"))
    assertEquals(sent.size, 1)
    assert(relay.outputStored(flare, PackId(0)))
    assertEquals(sent.size, 3)

  test("a pack is not notified of outputs before its last ones"):
    val (relay, sent) = adopted(large, small("a"), large, small("b"))
    assert(!relay.outputStored(flare, PackId(0)))
    assertEquals(sent.size, 3)
    assert(relay.outputStored(flare, PackId(0)))
    assertEquals(sent.size, 4)
