package burst.invoker.pack

import burst.invoker.driver.ContainerExit
import burst.protocol.*
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.duration.DurationInt

/** A pack of a group: it is idle between the flares that run on it, and reports its end to both. */
class PackGroupSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val setup = FunFixture[PackSetup](_ => PackSetup(kit), _.runtime.close())

  private def endOf(probe: TestProbe[PackReport]): PackEvent.PackEnded =
    probe.receiveMessage(60.seconds).events.last match
      case ended: PackEvent.PackEnded => ended
      case _ => endOf(probe)

  /** Runs a flare's part from its start to its successful end. */
  private def runFlare(setup: PackSetup, actor: ActorRef[PackActor.Command]): FakePack =
    import setup.*
    val (run, probe) = flare()
    actor ! run
    val pack = runtime.pack()
    assertEquals(
      (pack.request.flareId, pack.request.group),
      (run.assignment.flareId, Some(assignment.flareId))
    )
    pack.send(ready)
    val first = probe.receiveMessage()
    assertEquals((first.flareId, first.start), (run.assignment.flareId, Some(PackStart.Warm)))
    actor ! PackActor.Start(run.assignment.flareId, Vector(Some("a:1"), None))
    assertEquals(runtime.order()._1, "start")
    pack.send(setup.ended(reusable = true))
    pack.end()
    assertEquals(endOf(probe).reusable, true)
    pack

  setup.test("flares run one after another in one program, which ends with the group"): setup =>
    import setup.*
    val actor = resting()
    runFlare(setup, actor)
    // messages for a flare that has ended, or for the group's own start, have no effect
    actor ! PackActor.Start(assignment.flareId, Vector(None, None))
    actor ! PackActor.Abort(FlareId.random(), Failure(FailureKind.Cancelled, "late"), atOnce = false)
    runFlare(setup, actor)
    runtime.started()
    assertEquals((runtime.startedPrograms, driver.started.size), (0, 1))
    invoker.expectNoMessage(20.millis)
    controller.expectNoMessage(20.millis)
    val closed = Failure(FailureKind.Cancelled, "the group was closed")
    actor ! PackActor.Abort(assignment.flareId, closed, atOnce = false)
    assertEquals(endOf(controller).error.map(_.message), Some("the group was closed"))
    assertEquals(invoker.receiveMessage().pack, None)
    expectRelease()

  setup.test("a pack that fails during a flare also ends for the group, with the same reason"): setup =>
    import setup.*
    val actor = resting()
    val (run, probe) = flare()
    actor ! run
    val pack = runtime.pack()
    pack.send(ready)
    val panic = Failure(FailureKind.Panic, "oh", worker = Some(3))
    pack.send(
      PackEvent.WorkerFailed(3, panic, Timestamp.ofMicros(4)),
      setup.ended(reusable = false, Some(panic))
    )
    pack.end()
    assertEquals(endOf(probe).error.map(_.kind), Some(FailureKind.Panic))
    assertEquals(endOf(controller).error.map(_.kind), Some(FailureKind.Panic))
    val finished = invoker.receiveMessage()
    assertEquals((finished.pack, finished.answered), (None, Some(run.assignment.flareId)))
    expectRelease()

  setup.test("a container that dies while idle ends the group's pack immediately"): setup =>
    import setup.*
    resting()
    driver.lastContainer.ended.success(ContainerExit(Some(137), oomKilled = false))
    assertEquals(endOf(controller).error.map(_.kind), Some(FailureKind.PackLost))
    expectRelease()

  setup.test("closing a group whose pack runs a flare aborts the flare"): setup =>
    import setup.*
    val actor = resting()
    val (run, probe) = flare()
    actor ! run
    val pack = runtime.pack()
    pack.send(ready)
    probe.receiveMessage()
    actor ! PackActor.Abort(assignment.flareId, Failure(FailureKind.Cancelled, "closed"), atOnce = false)
    assertEquals(runtime.order()._1, "abort")
    pack.send(setup.ended(reusable = true))
    pack.end()
    assertEquals(endOf(probe).reusable, false)
    endOf(controller)
    expectRelease()

  setup.test(
    "a flare that arrives while the pack comes up runs afterwards, and one that is too late is refused"
  ): setup =>
    import setup.*
    val group = assignment.copy(attempt = 1, group = Some(GroupRole.Holder(1.second)))
    val actor = begin(group)
    val (early, earlyProbe) = flare()
    actor ! early
    givePackage()
    val pack = runtime.pack()
    assertEquals(pack.request.flareId, early.assignment.flareId)
    pack.send(ready, setup.ended(reusable = false))
    val (late, lateProbe) = flare()
    actor ! late
    pack.end()
    endOf(earlyProbe)
    endOf(controller)
    val finished = invoker.receiveMessage()
    if finished.answered.contains(late.assignment.flareId) then
      assertEquals(endOf(lateProbe).error.map(_.kind), Some(FailureKind.PackLost))
    expectRelease()
