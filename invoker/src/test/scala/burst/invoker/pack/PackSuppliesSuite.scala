package burst.invoker.pack

import burst.protocol.*
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import scala.concurrent.duration.DurationInt

/** What a pre-warmed pack begins with, and what a pack gives back while it runs. */
class PackSuppliesSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  private def setupWith(timings: PackTimings) = FunFixture[PackSetup](
    _ => PackSetup(kit, timings = timings),
    _.runtime.close()
  )
  private val longTimings = PackTimings(10.seconds, 10.seconds, 100.millis, 100.millis, slotReturn = None)
  private val setup = setupWith(longTimings)
  private val returning = setupWith(longTimings.copy(slotReturn = Some(1.milli)))

  setup.test("a pre-warmed container is adopted, gets its program, and is reported as such"): setup =>
    import setup.*
    val container = driver.container()
    launch(Supply.Prewarmed(container))
    givePackage()
    val pack = runtime.pack()
    pack.send(ready)
    assertEquals(controller.receiveMessage().start, Some(PackStart.Prewarmed))
    assertEquals((driver.started.size, driver.adopted.peek.workers), (0, 3))
    pack.send(setup.ended(reusable = true))
    pack.end()
    val _ = untilEnded()
    assertEquals(invoker.receiveMessage().pack.map(_.container.id), Some(container.id))
    assertEquals(driver.confined.peek, container.id)

  setup.test("a container that cannot be adopted is removed, and a new one takes its place"): setup =>
    import setup.*
    driver.adoptable = false
    launch(Supply.Prewarmed(driver.container()))
    givePackage()
    val pack = runtime.pack()
    pack.send(ready)
    assertEquals(controller.receiveMessage().start, Some(PackStart.Cold))
    assertEquals((driver.stops, driver.started.size), (Vector("c1"), 1))

  setup.test("an abort while the package is fetched gives the container back untouched"): setup =>
    import setup.*
    val container = driver.container()
    val actor = launch(Supply.Prewarmed(container))
    val acquired = packages.expectMessageType[burst.invoker.packages.PackageCache.Acquire]
    actor ! PackActor.Abort(
      assignment.flareId,
      Failure(FailureKind.Cancelled, "the flare was cancelled"),
      atOnce = false
    )
    val (_, end) = untilEnded()
    assertEquals(end.error.map(_.kind), Some(FailureKind.Cancelled))
    assertEquals(invoker.receiveMessage().unused, Some(container))
    acquired.replyTo ! Right(directory)
    expectRelease()
    assertEquals(driver.stops, Vector.empty)

  private def done(worker: Int) = PackEvent.WorkerSucceeded(worker, "true", Timestamp.ofMicros(4))

  private def slotsReported(setup: PackSetup): Int =
    setup.controller.receiveMessage().slots.getOrElse(slotsReported(setup))

  returning.test("slots of ended workers come back after their CPUs, and the rest with the pack"): setup =>
    import setup.*
    val (_, pack) = running()
    pack.send(ready, PackEvent.WorkerStarted(2, Timestamp.ofMicros(3)), done(2))
    assertEquals(slotsReported(setup), 2)
    assertEquals(driver.throttled.poll(), 2)
    pack.send(done(3))
    assertEquals(slotsReported(setup), 1)
    assertEquals(driver.throttled.poll(), 1)
    pack.send(done(4), setup.ended(reusable = true))
    pack.end()
    val (_, end) = untilEnded()
    assert(end.reusable)
    assert(
      invoker.receiveMessage().pack.exists(_.throttled),
      "its limits must be restored before it is used"
    )

  returning.test("if the CPUs cannot be taken away the pack keeps the slots"): setup =>
    import setup.*
    driver.resizable = false
    val (_, pack) = running()
    pack.send(ready, done(2))
    assertEquals(controller.receiveMessage().events.size, 2)
    controller.awaitAssert(assertEquals(driver.throttled.size, 1))
    controller.expectNoMessage(50.millis)

  setup.test("a throttled warm pack gets its limits back"): setup =>
    import setup.*
    val (pack, _) = warm()
    launch(Some(pack.copy(throttled = true)))
    val _ = runtime.pack()
    assertEquals(driver.resized.poll(), 3)
