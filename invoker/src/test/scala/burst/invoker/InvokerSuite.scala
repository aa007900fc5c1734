package burst.invoker

import burst.invoker.driver.PackResources
import burst.invoker.packages.PackageCache
import burst.protocol.*
import org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes
import org.apache.pekko.http.scaladsl.model.{HttpResponse, StatusCodes}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Future, Promise}

class InvokerSuite extends InvokerFixtures:
  fixture.test("an invoker registers with its resources"): fixture =>
    val registered = fixture.controller.expectMessageType[RegisterInvoker[Invoker.Command]]
    assertEquals(registered.invoker, fixture.invoker)
    assertEquals(
      registered.status,
      InvokerStatus(InvokerId("i7"), 4, 0.25, "fake", 0, RuntimeInfo("x86_64", "2.36"), shares = Some(true))
    )

  fixtureWith(InvokerFixture(beat = 20.millis)).test("heartbeats report the number of warm packs"): fixture =>
    fixture.controller.expectMessageType[RegisterInvoker[Invoker.Command]]
    fixture.warmUp()
    val beats = fixture.controller.fishForMessage(20.seconds):
      case Heartbeat(status) if status.warmPacks == 1 =>
        FishingOutcomes.complete
      case _ => FishingOutcomes.continueAndIgnore
    assertEquals(beats.size, 1)

  private def cluster(nodes: (String, Int)*): ClusterRoom =
    ClusterRoom(nodes.map((node, slots) => NodeRoom(node, slots, 1000)).toVector, packMemory = 64, most = 10)

  fixture.test("slots follow the cluster, and the controller is notified immediately"): fixture =>
    fixture.controller.expectMessageType[RegisterInvoker[Invoker.Command]]
    for room <- List(cluster("x" -> 3, "y" -> 2), cluster("y" -> 1), cluster()) do
      fixture.setup.driver.setRoom(room)
      val status = fixture.controller.expectMessageType[Heartbeat].status
      assertEquals((status.slots, status.room), (room.nodes.map(_.slots).sum, Some(room)))

  fixture.test(
    "a pack belongs to its node: warm it serves flares there, and goes when others need its slots"
  ): fixture =>
    val driver = fixture.setup.driver
    driver.setRoom(cluster("x" -> 4, "y" -> 4))
    def on(node: String, assignment: PackAssignment = fixture.another) =
      fixture.prepare(assignment.copy(node = Some(node)))
    on("x", fixture.setup.assignment)
    fixture.setup.givePackage()
    fixture.end(fixture.setup.runtime.pack())
    on("x")
    fixture.end(fixture.setup.runtime.pack())
    assertEquals(driver.started.toArray.toVector.map(_.asInstanceOf[PackResources].node), Vector(Some("x")))
    val warm = driver.lastContainer.id
    on("y")
    fixture.setup.givePackage()
    fixture.end(fixture.setup.runtime.pack())
    assertEquals(driver.started.size, 2)
    assertEquals(driver.stops, Vector.empty, "each has its own node")
    // a pack of another definition, which needs all of x
    val other = fixture.another.copy(definition = fixture.setup.assignment.definition.copy(version = "0.0.2"))
    on("x", other)
    kit.createTestProbe[Any]().awaitAssert(assertEquals(driver.stops, Vector(warm)))

  fixture.test("the next flare of the same definition gets the warm pack"): fixture =>
    fixture.warmUp()
    fixture.prepare(fixture.another)
    fixture.end(fixture.setup.runtime.pack())
    assertEquals((fixture.setup.driver.started.size, fixture.setup.runtime.startedPrograms), (1, 1))

  // The container's end is reported in time, however late.
  fixtureWith(InvokerFixture(settle = 10.seconds)).test(
    "a warm pack's container is watched once, by the invoker, whichever flare it runs"
  ): fixture =>
    import fixture.setup
    fixture.warmUp()
    fixture.prepare(fixture.another)
    fixture.end(setup.runtime.pack())
    val container = setup.driver.lastContainer
    val watches = container.watches.get
    for _ <- 1 to 3 do
      fixture.prepare(fixture.another)
      fixture.end(setup.runtime.pack())
    assertEquals(container.watches.get, watches)

    fixture.prepare(fixture.another)
    val pack = setup.runtime.pack()
    pack.send(PackEvent.Ready(None, Timestamp.ofMicros(1)))
    setup.controller.receiveMessage()
    container.ended.success(burst.invoker.driver.ContainerExit(Some(137), oomKilled = true))
    pack.end()
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.OutOfMemory))

  fixtureWith(InvokerFixture(beat = 20.millis, prewarmed = 2))
    .test("pre-warmed containers are kept ready, used if no pack is warm, and replaced"): fixture =>
      import fixture.setup
      prewarmedPacks(fixture, 2)
      fixture.warmUp()
      assertEquals((setup.driver.started.size, setup.driver.adopted.size), (0, 1))
      assertEquals(setup.runtime.startedPrograms, 1)
      // not by the next heartbeat, which may be an earlier one
      fixture.controller.awaitAssert(assertEquals(
        setup.driver.prewarmed.toArray.toVector,
        Vector((4, 16), (4, 16), (3, 128)),
        "for a pack that fills the machine, then for one like the last"
      ))
      fixture.prepare(fixture.another)
      fixture.end(setup.runtime.pack())
      assertEquals(setup.driver.adopted.size, 1, "the warm pack is used")

  private def python(fixture: InvokerFixture): PackAssignment =
    val definition = fixture.setup.assignment.definition
    fixture.another.copy(definition = definition.copy(name = "python", kind = "python:3"))

  fixtureWith(InvokerFixture(beat = 20.millis, prewarmed = 2))
    .test("pre-warmed containers have an interpreter of the last requested kind, if it has one"): fixture =>
      import fixture.setup
      prewarmedPacks(fixture, 2)
      assertEquals(setup.runtime.interpretersStarted, 0)
      fixture.warmUp(python(fixture))
      val started = Vector.fill(2)(setup.runtime.interpreterStarted())
      assertEquals(started, Vector("python:3", "python:3"), "in the ready container and in its successor")
      fixture.warmUp()
      fixture.controller.awaitAssert(assertEquals(setup.driver.prewarmed.size, 4))
      prewarmedPacks(fixture, 2)
      assertEquals(setup.runtime.interpretersStarted, 0)

  for
    (what, answer) <- Vector(
      "does not know of interpreters" ->
        Future.successful(HttpResponse(StatusCodes.NotFound)),
      "never answers" -> Promise[HttpResponse]().future
    )
  do
    fixtureWith(InvokerFixture(beat = 20.millis, prewarmed = 1))
      .test(s"a pre-warmed container is ready even if its runtime $what"): fixture =>
        import fixture.setup
        prewarmedPacks(fixture, 1)
        setup.runtime.interpreterAnswer = answer
        fixture.warmUp(python(fixture))
        assertEquals(setup.runtime.interpreterStarted(), "python:3")
        fixture.controller.awaitAssert(assertEquals(setup.driver.prewarmed.size, 2))
        prewarmedPacks(fixture, 1)

  fixtureWith(InvokerFixture(beat = 20.millis, prewarmed = 1))
    .test("a pre-warmed container that dies is removed and replaced"): fixture =>
      import fixture.setup
      prewarmedPacks(fixture, 1)
      val exit = burst.invoker.driver.ContainerExit(Some(1), oomKilled = false)
      setup.driver.lastContainer.ended.success(exit)
      prewarmedPacks(fixture, 0)
      prewarmedPacks(fixture, 1)
      assertEquals(setup.driver.stops, Vector("c1"))

  fixtureWith(InvokerFixture(beat = 20.millis, prewarmed = 1))
    .test("a pack that ends before it needed its container gives it back"): fixture =>
      import fixture.setup
      prewarmedPacks(fixture, 1)
      fixture.prepare()
      val acquired = setup.packages.expectMessageType[PackageCache.Acquire]
      acquired.replyTo ! Left(Failure(FailureKind.StartFailed, "no such package"))
      assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.StartFailed))
      // if another container has already taken its place, one of them is removed
      prewarmedPacks(fixture, 1)

  fixture.test("a pack that is requested twice is started once"): fixture =>
    import fixture.setup
    fixture.prepare()
    fixture.prepare()
    setup.givePackage()
    fixture.end(setup.runtime.pack())
    setup.controller.expectNoMessage(50.millis)
    assertEquals(setup.driver.started.size, 1)

  fixture.test("an impossible pack is refused"): fixture =>
    val nowhere = fixture.another.copy(pack = PackId(2))
    fixture.prepare(nowhere)
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.InvalidInput))
    fixture.prepare(nowhere.copy(group = Some(GroupRole.Member(FlareId.random()))))
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.InvalidInput))

  fixture.test("start and abort reach their pack and no other"): fixture =>
    import fixture.setup
    val other = fixture.another
    fixture.prepare()
    setup.givePackage()
    setup.runtime.pack().send(setup.ready)
    setup.controller.receiveMessage()
    fixture.send(StartPack(other.flareId, PackId(1), Vector(None)))
    fixture.send(AbortPack(
      setup.assignment.flareId,
      PackId(0),
      Failure(FailureKind.Cancelled, "not this one")
    ))
    fixture.send(StartPack(setup.assignment.flareId, PackId(1), Vector(None, None)))
    assertEquals(setup.runtime.order()._1, "start")
    fixture.send(AbortPack(setup.assignment.flareId, PackId(1), Failure(FailureKind.Cancelled, "this one")))
    assertEquals(setup.runtime.order()._1, "abort")

  fixtureWith(InvokerFixture(
    idle = 50.millis,
    beat = 20.millis
  )).test("an unused pack is removed, and its package released"): fixture =>
    fixture.warmUp()
    fixture.setup.expectRelease()
    assertEquals(fixture.setup.driver.stops.size, 1)

  fixture.test("a warm pack that dies is removed"): fixture =>
    fixture.warmUp()
    fixture.setup.driver.lastContainer.ended.success(burst.invoker.driver.ContainerExit(
      Some(1),
      oomKilled = false
    ))
    fixture.setup.expectRelease()
    assertEquals(fixture.setup.driver.stops.size, 1)

  // A pack of the fixture takes 3 × 128 MiB.
  fixtureWith(InvokerFixture(memoryLimit =
    Some(500)
  )).test("warm packs make room for others, running ones do not"): fixture =>
    import fixture.setup
    fixture.warmUp()
    val other = fixture.another
    fixture.prepare(other.copy(definition = setup.definition.copy(version = "0.0.2")))
    val messages = Vector(setup.packages.receiveMessage(), setup.packages.receiveMessage())
    assert(messages.contains(PackageCache.Release(setup.definition.packageId)), messages.toString)
    messages.collect { case PackageCache.Acquire(_, replyTo) => replyTo ! Right(setup.directory) }
    val _ = setup.runtime.pack()
    fixture.prepare(fixture.another)
    val error = fixture.ended().error.getOrElse(fail("the pack was not refused"))
    assertEquals(error.kind, FailureKind.StartFailed)
    assert(error.message.contains("384 MiB") && error.message.contains("500 MiB"), error.message)

  fixture.test("warm packs that hold slots make room for others"): fixture =>
    import fixture.setup
    setup.driver.reserves = true
    fixture.warmUp()
    fixture.prepare(fixture.another.copy(definition = setup.definition.copy(version = "0.0.2")))
    val messages = Vector(setup.packages.receiveMessage(), setup.packages.receiveMessage())
    assert(messages.contains(PackageCache.Release(setup.definition.packageId)), messages.toString)
    messages.collect { case PackageCache.Acquire(_, replyTo) => replyTo ! Right(setup.directory) }
    fixture.end(setup.runtime.pack())
