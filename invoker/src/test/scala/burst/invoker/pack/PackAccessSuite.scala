package burst.invoker.pack

import burst.invoker.driver.{ContainerExit, NetworkAccess}
import burst.protocol.*
import io.circe.Json
import io.circe.syntax.*
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.{Future, Promise}
import scala.jdk.CollectionConverters.*
import scala.concurrent.duration.{Duration, DurationInt}

/** What a pack may reach, and when. */
class PackAccessSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val setup = FunFixture[PackSetup](_ => PackSetup(kit), _.runtime.close())

  setup.test("a pack has its flare's network before its program starts, and none while idle"): setup =>
    import setup.*
    val _ = begin(assignment.copy(egress = true, elsewhere = 1))
    givePackage()
    val pack = runtime.pack()
    val access =
      NetworkAccess(assignment.flareId, packs = 2, assignment.backend, egress = true, elsewhere = 1)
    assertEquals(driver.connected.asScala.toVector, Vector((driver.lastContainer.id, access)))
    pack.send(ready, setup.ended(reusable = true))
    assertEquals(driver.disconnected.asScala.toVector, Vector.empty)
    pack.end()
    assert(untilEnded()(1).reusable)
    assertEquals(driver.disconnected.asScala.toVector, Vector(driver.lastContainer.id))

  setup.test("a warm pack gets the network of the flare that it is to run"): setup =>
    import setup.*
    val (pack, container) = warm()
    val _ = launch(Some(pack))
    val _ = runtime.pack()
    assertEquals(driver.connected.asScala.toVector.map(_(0)), Vector(container.id))

  setup.test("endpoints are translated in both directions"): setup =>
    import setup.*
    driver.published = endpoint => s"published $endpoint"
    driver.found = Right(endpoint => s"found $endpoint")
    val (actor, pack) = running()
    pack.send(ready)
    val events = controller.receiveMessage().events
    assertEquals(events, Vector(PackEvent.Ready(Some("published 10.0.0.1:4000"), Timestamp.ofMicros(1))))
    actor ! PackActor.Start(assignment.flareId, Vector(Some("a:1"), None))
    val endpoints = Json.arr("found a:1".asJson, Json.Null)
    assertEquals(runtime.order(), ("start", Json.obj("endpoints" -> endpoints)))

  setup.test("a pack that cannot find the others is lost"): setup =>
    import setup.*
    driver.found = Left(Failure(FailureKind.StartFailed, "no way to them"))
    val (actor, pack) = running()
    pack.send(ready)
    controller.receiveMessage()
    actor ! PackActor.Start(assignment.flareId, Vector(Some("a:1"), Some("b:1")))
    assertEquals(endedBadly().message, "no way to them")

  private val noNetwork = Failure(FailureKind.StartFailed, "no network")

  setup.test("a program that cannot get its network is not started"): setup =>
    import setup.*
    driver.connecting = Future.successful(Some(noNetwork))
    val _ = launch()
    givePackage()
    val failure = endedBadly()
    assertEquals((failure.kind, failure.message), (FailureKind.StartFailed, "no network"))
    assertEquals(failure.operation, Some("create"))
    assertEquals(runtime.startedPrograms, 0)

  setup.test("a group's packs keep their network from flare to flare"): setup =>
    import setup.*
    val group = resting()
    val (run, reports) = flare()
    group ! run
    val pack = runtime.pack()
    pack.send(ready, setup.ended(reusable = true))
    pack.end()
    assertEquals(reports.receiveMessage().flareId, run.assignment.flareId)
    assertEquals(driver.connected.asScala.toVector.map(_(1).flare), Vector(assignment.flareId))
    assertEquals(driver.disconnected.asScala.toVector, Vector.empty)

  setup.test("a group that begins on a warm pack gets its network before it is ready"): setup =>
    import setup.*
    val (pack, container) = warm()
    val holder =
      assignment.copy(attempt = 1, group = Some(GroupRole.Holder(1.second)), timeLeft = Duration.Zero)
    val _ = begin(holder, Supply.Warm(pack))
    assertEquals(
      controller.receiveMessage().events.map(_.getClass),
      Vector(PackEvent.Ready(None, Timestamp.Epoch).getClass)
    )
    val network = driver.connected.asScala.toVector.map((id, access) => (id, access.flare))
    assertEquals(network, Vector((container.id, holder.flareId)))
    assertEquals(runtime.startedPrograms, 0)

  /** Begins a group on a warm pack: returns its actor, and that pack's container. */
  private def beginWarm(setup: PackSetup): (ActorRef[PackActor.Command], FakeContainer) =
    import setup.*
    val (pack, container) = warm()
    val holder =
      assignment.copy(attempt = 1, group = Some(GroupRole.Holder(1.second)), timeLeft = Duration.Zero)
    (begin(holder, Supply.Warm(pack)), container)

  /** The group begins in a new container instead. */
  private def expectNewContainer(setup: PackSetup, replaced: FakeContainer): Unit =
    import setup.*
    expectRelease()
    driver.connecting = Future.successful(None)
    givePackage()
    val report = controller.receiveMessage()
    assertEquals((report.start, report.events.size), (Some(PackStart.Cold), 1))
    assertEquals(driver.stops, Vector(replaced.id))

  setup.test("a group whose warm pack cannot get its network begins in another container"): setup =>
    setup.driver.connecting = Future.successful(Some(noNetwork))
    val (_, container) = beginWarm(setup)
    expectNewContainer(setup, container)

  setup.test("a group whose warm pack ends while it waits for its network begins in another one"): setup =>
    setup.driver.connecting = Future.never
    val (actor, container) = beginWarm(setup)
    actor ! PackActor.Exited(container.id, ContainerExit(Some(137), oomKilled = false))
    expectNewContainer(setup, container)

  setup.test("a late answer about a replaced container is not taken for another's"): setup =>
    import setup.*
    val late = Promise[Option[Failure]]()
    driver.connecting = late.future
    val (pack, container) = warm()
    val actor = launch(Some(pack))
    actor ! PackActor.Exited(container.id, ContainerExit(Some(137), oomKilled = false))
    expectRelease()
    driver.connecting = Future.successful(None)
    val gate = Gate()
    runtime.gate = Some(gate)
    givePackage()
    gate.reached()
    late.success(Some(noNetwork))
    gate.release()
    runtime.pack().send(ready)
    assertEquals(controller.receiveMessage().start, Some(PackStart.Cold))
