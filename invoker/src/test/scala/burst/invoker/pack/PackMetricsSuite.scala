package burst.invoker.pack

import burst.protocol.*
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import scala.concurrent.Future
import scala.concurrent.duration.DurationInt

/** The metrics of packs. */
class PackMetricsSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val setup = FunFixture[PackSetup](_ => PackSetup(kit), _.runtime.close())

  private def expectMetrics(setup: PackSetup)(expected: String*)(using munit.Location): Unit =
    val shown = String(setup.metrics.text(), "UTF-8")
    expected.foreach(line => assert(shown.linesIterator.contains(line), s"$line is not in\n$shown"))

  setup.test("a pack starts, runs and stays warm, and the next one starts warm"): setup =>
    import setup.*
    val (_, pack) = running()
    expectMetrics(setup)(
      """burst_invoker_packs{state="starting"} 1.0""",
      """burst_invoker_packs{state="running"} 0.0""",
      "burst_invoker_busy_slots 3.0"
    )
    pack.send(ready)
    controller.receiveMessage()
    // The metrics are updated after the report to the controller.
    controller.awaitAssert(expectMetrics(setup)(
      """burst_invoker_packs{state="starting"} 0.0""",
      """burst_invoker_packs{state="running"} 1.0""",
      """burst_invoker_starts_total{outcome="ready",start="cold"} 1.0""",
      """burst_invoker_start_seconds_count{start="cold"} 1"""
    ))
    val panic = Failure(FailureKind.Panic, "index out of bounds")
    pack.send(
      PackEvent.WorkerFailed(2, panic, Timestamp.ofMicros(3)),
      setup.ended(reusable = true, Some(panic))
    )
    pack.end()
    untilEnded()
    val returned = invoker.receiveMessage().pack.getOrElse(fail("the pack was not kept"))
    expectMetrics(setup)(
      """burst_invoker_packs{state="running"} 0.0""",
      "burst_invoker_busy_slots 0.0",
      """burst_invoker_worker_failures_total{kind="panic"} 1.0""",
      """burst_invoker_pack_failures_total{kind="panic"} 1.0"""
    )
    launch(Supply.Warm(returned))
    val again = runtime.pack()
    again.send(ready, setup.ended(reusable = true))
    again.end()
    untilEnded()
    invoker.receiveMessage()
    expectMetrics(setup)(
      """burst_invoker_starts_total{outcome="ready",start="warm"} 1.0""",
      """burst_invoker_starts_total{outcome="ready",start="cold"} 1.0""",
      "burst_invoker_busy_slots 0.0"
    )

  setup.test("messages between a flare's packs are counted by backend"): setup =>
    import setup.*
    val (_, pack) = running()
    pack.send(
      ready,
      PackEvent.PackEnded(reusable = true, None, Timestamp.ofMicros(4), Some(Traffic(3, 5000)))
    )
    pack.end()
    untilEnded()
    val kind = assignment.backend.kind
    expectMetrics(setup)(
      s"""burst_invoker_messages_total{backend="$kind"} 3.0""",
      s"""burst_invoker_message_bytes_total{backend="$kind"} 5000.0"""
    )

  setup.test("a failed start is distinguished from an aborted one"): setup =>
    import setup.*
    driver.beforeStart = Future.successful(Some(Failure(FailureKind.StartFailed, "no room")))
    launch()
    givePackage()
    endedBadly()
    expectRelease()
    driver.beforeStart = Future.successful(None)
    val (aborted, _) = running()
    aborted ! PackActor.Abort(
      assignment.flareId,
      Failure(FailureKind.Cancelled, "as the user wished"),
      atOnce = true
    )
    endedBadly()
    expectMetrics(setup)(
      """burst_invoker_starts_total{outcome="failed",start="cold"} 1.0""",
      """burst_invoker_starts_total{outcome="aborted",start="cold"} 1.0""",
      """burst_invoker_starts_total{outcome="ready",start="cold"} 0.0""",
      """burst_invoker_pack_failures_total{kind="start-failed"} 1.0""",
      """burst_invoker_pack_failures_total{kind="cancelled"} 1.0""",
      """burst_invoker_packs{state="starting"} 0.0""",
      "burst_invoker_busy_slots 0.0"
    )

  setup.test("a group's pack starts once, however many flares run on it"): setup =>
    import setup.*
    val actor = resting()
    for _ <- 1 to 2 do
      val (run, probe) = flare()
      actor ! run
      val pack = runtime.pack()
      pack.send(ready)
      probe.receiveMessage()
      pack.send(setup.ended(reusable = true))
      pack.end()
      probe.receiveMessage()
    expectMetrics(setup)(
      """burst_invoker_packs{state="running"} 1.0""",
      """burst_invoker_starts_total{outcome="ready",start="cold"} 1.0""",
      """burst_invoker_starts_total{outcome="ready",start="warm"} 0.0"""
    )
    actor ! PackActor.Abort(
      assignment.flareId,
      Failure(FailureKind.Cancelled, "the group was closed"),
      atOnce = false
    )
    invoker.receiveMessage()
    expectMetrics(setup)("""burst_invoker_packs{state="running"} 0.0""", "burst_invoker_busy_slots 0.0")
