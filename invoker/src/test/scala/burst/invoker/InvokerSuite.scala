package burst.invoker

import burst.invoker.driver.PackResources
import burst.invoker.pack.PackSetup
import burst.invoker.packages.PackageCache
import burst.invoker.pool.PoolLimits
import burst.protocol.*
import org.apache.pekko.Done
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.http.scaladsl.model.{HttpResponse, StatusCodes}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Future, Promise}

class InvokerSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  /** An invoker on a fake runtime and driver; the test plays controller and package cache. */
  private class Fixture(
      memoryLimit: Option[Long] = None,
      idle: FiniteDuration = 1.hour,
      beat: FiniteDuration = 1.hour,
      prewarmed: Int = 0,
      settle: FiniteDuration = 100.millis
  ):
    val setup: PackSetup = PackSetup(kit)
    val controller: TestProbe[RegistryCommand[Invoker.Command]] = kit.createTestProbe()
    @volatile var cleaning: Future[Option[Failure]] = Future.successful(None)
    private val settings = setup.settings.copy(
      memoryLimit = memoryLimit,
      pool = setup.settings.pool.copy(idle = idle),
      heartbeatInterval = beat,
      prewarmed = prewarmed,
      clean = (_, _) => cleaning
    )
    private val services = setup.services.copy(timings = setup.services.timings.copy(settle = settle))
    val invoker: ActorRef[Invoker.Command] =
      kit.spawn(Invoker(settings, services, () => 0.25, controller.ref))

    def prepare(assignment: PackAssignment = setup.assignment): Unit =
      tell(PreparePack(assignment))

    def tell(command: InvokerCommand): Unit =
      invoker ! InvokerRequest(command, setup.controller.ref.unsafeUpcast)

    def another: PackAssignment = setup.assignment.copy(flareId = FlareId.random())

    def ended(): PackEvent.PackEnded =
      setup.controller.receiveMessage().events.last match
        case ended: PackEvent.PackEnded => ended
        case _ => this.ended()

    /** Runs the assignment to its good end, cold. */
    def warmUp(assignment: PackAssignment = setup.assignment): Unit =
      prepare(assignment)
      setup.givePackage()
      end(setup.runtime.pack())

    def end(pack: burst.invoker.pack.FakePack): Unit =
      pack.say(
        PackEvent.Ready(None, Timestamp.ofMicros(1)),
        PackEvent.PackEnded(true, None, Timestamp.ofMicros(2))
      )
      pack.end()
      assert(ended().reusable)

  private val fixture = FunFixture[Fixture](_ => Fixture(), _.setup.runtime.close())
  private def fixtureWith(make: => Fixture) = FunFixture[Fixture](_ => make, _.setup.runtime.close())

  fixture.test("an invoker registers with what it offers"): fixture =>
    val registered = fixture.controller.expectMessageType[RegisterInvoker[Invoker.Command]]
    assertEquals(registered.invoker, fixture.invoker)
    assertEquals(
      registered.status,
      InvokerStatus(InvokerId("i7"), 4, 0.25, "fake", 0, RuntimeInfo("x86_64", "2.36"), shares = Some(true))
    )

  fixtureWith(Fixture(beat = 20.millis)).test("heartbeats say how many packs are warm"): fixture =>
    fixture.controller.expectMessageType[RegisterInvoker[Invoker.Command]]
    fixture.warmUp()
    val beats = fixture.controller.fishForMessage(20.seconds):
      case Heartbeat(status) if status.warmPacks == 1 =>
        org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes.complete
      case _ => org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes.continueAndIgnore
    assertEquals(beats.size, 1)

  private def cluster(nodes: (String, Int)*): ClusterRoom =
    ClusterRoom(nodes.map((node, slots) => NodeRoom(node, slots, 1000)).toVector, packMemory = 64, most = 10)

  fixture.test("slots follow the cluster, which the controller hears of at once"): fixture =>
    fixture.controller.expectMessageType[RegisterInvoker[Invoker.Command]]
    for room <- List(cluster("x" -> 3, "y" -> 2), cluster("y" -> 1), cluster()) do
      fixture.setup.driver.becomes(room)
      val status = fixture.controller.expectMessageType[Heartbeat].status
      assertEquals((status.slots, status.room), (room.nodes.map(_.slots).sum, Some(room)))

  fixture.test(
    "a pack is for its node; a warm one serves flares there, and goes where another needs its slots"
  ): fixture =>
    val driver = fixture.setup.driver
    driver.becomes(cluster("x" -> 4, "y" -> 4))
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
    // of another definition, for all of x
    val other = fixture.another.copy(definition = fixture.setup.assignment.definition.copy(version = "0.0.2"))
    on("x", other)
    kit.createTestProbe[Any]().awaitAssert(assertEquals(driver.stops, Vector(warm)))

  fixture.test("the next flare of the same definition gets the warm pack"): fixture =>
    fixture.warmUp()
    fixture.prepare(fixture.another)
    fixture.end(fixture.setup.runtime.pack())
    assertEquals((fixture.setup.driver.started.size, fixture.setup.runtime.startedPrograms), (1, 1))

  // The container's end comes, however late.
  fixtureWith(Fixture(settle = 10.seconds)).test(
    "a warm pack is watched once, by the invoker for whichever flare it runs"
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
    pack.say(PackEvent.Ready(None, Timestamp.ofMicros(1)))
    setup.controller.receiveMessage()
    container.ended.success(burst.invoker.driver.ContainerExit(Some(137), oomKilled = true))
    pack.end()
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.OutOfMemory))

  private def prewarmedPacks(fixture: Fixture, wanted: Int): Unit =
    import org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes
    val _ = fixture.controller.fishForMessage(20.seconds):
      case Heartbeat(status) if status.prewarmedPacks == wanted => FishingOutcomes.complete
      case _ => FishingOutcomes.continueAndIgnore

  fixtureWith(Fixture(beat = 20.millis, prewarmed = 2))
    .test("pre-warmed containers are kept ready, used where no pack is warm, and replaced"): fixture =>
      import fixture.setup
      prewarmedPacks(fixture, 2)
      fixture.warmUp()
      assertEquals((setup.driver.started.size, setup.driver.adopted.size), (0, 1))
      assertEquals(setup.runtime.startedPrograms, 1)
      // not by the next heartbeat, which may be one from before
      fixture.controller.awaitAssert(assertEquals(
        setup.driver.prewarmed.toArray.toVector,
        Vector((4, 16), (4, 16), (3, 128)),
        "for a pack that fills the machine, then for one like the last"
      ))
      fixture.prepare(fixture.another)
      fixture.end(setup.runtime.pack())
      assertEquals(setup.driver.adopted.size, 1, "the warm one is taken")

  private def python(fixture: Fixture): PackAssignment =
    val definition = fixture.setup.assignment.definition
    fixture.another.copy(definition = definition.copy(name = "python", kind = "python:3"))

  fixtureWith(Fixture(beat = 20.millis, prewarmed = 2))
    .test("what waits has an interpreter of the kind that was asked for last, if that has one"): fixture =>
      import fixture.setup
      prewarmedPacks(fixture, 2)
      assertEquals(setup.runtime.interpretersStarted, 0)
      fixture.warmUp(python(fixture))
      val started = Vector.fill(2)(setup.runtime.interpreterStarted())
      assertEquals(started, Vector("python:3", "python:3"), "in that which was ready, and in its successor")
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
    fixtureWith(Fixture(beat = 20.millis, prewarmed = 1))
      .test(s"a container whose runtime $what is ready all the same"): fixture =>
        import fixture.setup
        prewarmedPacks(fixture, 1)
        setup.runtime.interpreterAnswer = answer
        fixture.warmUp(python(fixture))
        assertEquals(setup.runtime.interpreterStarted(), "python:3")
        fixture.controller.awaitAssert(assertEquals(setup.driver.prewarmed.size, 2))
        prewarmedPacks(fixture, 1)

  fixtureWith(Fixture(beat = 20.millis, prewarmed = 1))
    .test("a pre-warmed container that dies is removed and replaced"): fixture =>
      import fixture.setup
      prewarmedPacks(fixture, 1)
      val exit = burst.invoker.driver.ContainerExit(Some(1), oomKilled = false)
      setup.driver.lastContainer.ended.success(exit)
      prewarmedPacks(fixture, 0)
      prewarmedPacks(fixture, 1)
      assertEquals(setup.driver.stops, Vector("c1"))

  fixtureWith(Fixture(beat = 20.millis, prewarmed = 1))
    .test("a pack that ends before it needed its container gives it back"): fixture =>
      import fixture.setup
      prewarmedPacks(fixture, 1)
      fixture.prepare()
      val acquired = setup.packages.expectMessageType[PackageCache.Acquire]
      acquired.replyTo ! Left(Failure(FailureKind.StartFailed, "no such package"))
      assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.StartFailed))
      // where another has taken its place meanwhile, one of them goes
      prewarmedPacks(fixture, 1)

  fixtureWith(Fixture(beat = 20.millis, prewarmed = 2))
    .test("stopping removes what is pre-warmed"): fixture =>
      prewarmedPacks(fixture, 2)
      val stopped = kit.createTestProbe[Done]()
      fixture.invoker ! Invoker.Stop(1.hour, stopped.ref)
      stopped.receiveMessage()
      assertEquals(fixture.setup.driver.stops.toSet, Set("c1", "c2"))

  fixture.test("a pack that is asked for twice is started once"): fixture =>
    import fixture.setup
    fixture.prepare()
    fixture.prepare()
    setup.givePackage()
    fixture.end(setup.runtime.pack())
    setup.controller.expectNoMessage(50.millis)
    assertEquals(setup.driver.started.size, 1)

  fixture.test("a pack that cannot be is refused"): fixture =>
    val nowhere = fixture.another.copy(pack = 2)
    fixture.prepare(nowhere)
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.InvalidInput))
    fixture.prepare(nowhere.copy(group = Some(GroupRole.Member(FlareId.random()))))
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.InvalidInput))

  fixture.test("start and abort reach their pack and no other"): fixture =>
    import fixture.setup
    val other = fixture.another
    fixture.prepare()
    setup.givePackage()
    setup.runtime.pack().say(setup.ready)
    setup.controller.receiveMessage()
    fixture.tell(StartPack(other.flareId, 1, Vector(None)))
    fixture.tell(AbortPack(setup.assignment.flareId, 0, Failure(FailureKind.Cancelled, "not this one")))
    fixture.tell(StartPack(setup.assignment.flareId, 1, Vector(None, None)))
    assertEquals(setup.runtime.order()._1, "start")
    fixture.tell(AbortPack(setup.assignment.flareId, 1, Failure(FailureKind.Cancelled, "this one")))
    assertEquals(setup.runtime.order()._1, "abort")

  fixtureWith(Fixture(
    idle = 50.millis,
    beat = 20.millis
  )).test("a pack nobody uses is removed, and its package released"): fixture =>
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
  fixtureWith(Fixture(memoryLimit = Some(500))).test("warm packs make room for others, running ones do not"):
    fixture =>
      import fixture.setup
      fixture.warmUp()
      val other = fixture.another
      fixture.prepare(other.copy(definition = setup.definition.copy(version = "0.0.2")))
      val messages = Vector(setup.packages.receiveMessage(), setup.packages.receiveMessage())
      assert(messages.contains(PackageCache.Release(setup.definition.packageId)), messages.toString)
      messages.collect { case PackageCache.Acquire(_, replyTo) => replyTo ! Right(setup.directory) }
      val _ = setup.runtime.pack()
      fixture.prepare(fixture.another)
      val error = fixture.ended().error.getOrElse(fail("it was not refused"))
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

  private val redis = BackendConfig("redis-list", Some("redis://h"), None)

  fixture.test("a flare is cleaned by the runtime, and failures are told"): fixture =>
    val probe = kit.createTestProbe[InvokerReport]()
    val id = FlareId.random()
    fixture.invoker ! InvokerRequest(CleanFlare(id, redis), probe.ref)
    assertEquals(probe.receiveMessage(), FlareCleaned(id, None))
    fixture.cleaning = Future.successful(Some(Failure(FailureKind.Backend, "it is gone")))
    fixture.invoker ! InvokerRequest(CleanFlare(id, redis), probe.ref)
    assertEquals(probe.expectMessageType[FlareCleaned].error.map(_.message), Some("it is gone"))
    fixture.cleaning = Future.failed(RuntimeException("x"))
    fixture.invoker ! InvokerRequest(CleanFlare(id, redis), probe.ref)
    assert(probe.expectMessageType[FlareCleaned].error.nonEmpty)

  fixture.test("a backend without a server needs no cleaning"): fixture =>
    val probe = kit.createTestProbe[InvokerReport]()
    fixture.cleaning = Promise[Option[Failure]]().future
    fixture.invoker ! InvokerRequest(CleanFlare(FlareId.random(), redis.copy(uri = None)), probe.ref)
    assertEquals(probe.expectMessageType[FlareCleaned].error, None)

  /** Who is told of both, in their order, and what is to be cleaned. */
  private def stopWhileCleaning(
      fixture: Fixture,
      longest: FiniteDuration
  ): (TestProbe[InvokerReport | Done], Promise[Option[Failure]]) =
    val (told, cleaned) = (kit.createTestProbe[InvokerReport | Done](), Promise[Option[Failure]]())
    fixture.cleaning = cleaned.future
    fixture.invoker ! InvokerRequest(CleanFlare(FlareId.random(), redis), told.ref)
    fixture.invoker ! Invoker.Stop(longest, told.ref)
    (told, cleaned)

  fixture.test("stopping waits for what is being cleaned"): fixture =>
    val (told, cleaned) = stopWhileCleaning(fixture, 1.hour)
    // As late as an invoker that does not wait has surely stopped.
    fixture.invoker ! InvokerRequest(CleanFlare(FlareId.random(), redis.copy(uri = None)), told.ref)
    assert(told.expectMessageType[FlareCleaned].error.isEmpty)
    cleaned.success(None)
    assert(told.expectMessageType[FlareCleaned].error.isEmpty)
    assertEquals(told.receiveMessage(), Done)

  fixture.test("stopping does not wait for a server that is gone"): fixture =>
    assertEquals(stopWhileCleaning(fixture, 20.millis)._1.receiveMessage(), Done)

  fixture.test("stopping ends all packs, running and warm, before it is answered"): fixture =>
    import fixture.setup
    fixture.warmUp()
    fixture.prepare(fixture.another.copy(definition = setup.definition.copy(version = "0.0.2")))
    setup.givePackage()
    val _ = setup.runtime.pack()
    val stopped = kit.createTestProbe[Done]()
    fixture.invoker ! Invoker.Stop(1.hour, stopped.ref)
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.InvokerLost))
    stopped.receiveMessage()
    assertEquals(setup.driver.stops.toSet, Set("c1", "c2"))

  fixtureWith(Fixture(beat = 20.millis)).test(
    "when it is to be left it says so at once, and is done when what it has is over"
  ): fixture =>
    import fixture.setup
    fixture.prepare(fixture.another)
    setup.givePackage()
    val pack = setup.runtime.pack()
    val left = kit.createTestProbe[Done]()
    fixture.invoker ! Invoker.Leave(left.ref)
    import org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes
    val _ = fixture.controller.fishForMessage(20.seconds):
      case Heartbeat(status) if status.isLeaving => FishingOutcomes.complete
      case _ => FishingOutcomes.continueAndIgnore
    def heard(free: Option[Boolean]): Unit = fixture.invoker ! Invoker.LeaveHeard(free)
    for _ <- 1 to 3 do
      heard(Some(true))
      left.expectNoMessage(25.millis)
    fixture.end(pack)
    kit.createTestProbe[Any]().awaitAssert:
      heard(Some(true))
      left.receiveMessage(50.millis)

  for (free, told) <- Vector(Some(true) -> "that nothing more comes", None -> "of its leaving twice") do
    fixtureWith(Fixture(beat = 20.millis)).test(
      s"an idle one is not left before the scheduler has told $told"
    ): fixture =>
      val left = kit.createTestProbe[Done]()
      fixture.invoker ! Invoker.Leave(left.ref)
      left.expectNoMessage(100.millis)
      // in one interval it is told but once
      for _ <- 1 to 3 do fixture.invoker ! Invoker.LeaveHeard(Some(false))
      fixture.invoker ! Invoker.LeaveHeard(free)
      left.expectNoMessage(20.millis)
      // what was on its way, however late it is
      fixture.warmUp()
      left.expectNoMessage(20.millis)
      kit.createTestProbe[Any]().awaitAssert:
        fixture.invoker ! Invoker.LeaveHeard(free)
        left.receiveMessage(50.millis)

  fixture.test("while it stops, nothing new is started"): fixture =>
    import fixture.setup
    val gone = Promise[burst.invoker.driver.StopOutcome]()
    fixture.warmUp()
    setup.driver.beforeStop = gone.future
    val stopped = kit.createTestProbe[Done]()
    fixture.invoker ! Invoker.Stop(1.hour, stopped.ref)
    fixture.prepare(fixture.another)
    assertEquals(fixture.ended().error.map(_.kind), Some(FailureKind.InvokerLost))
    stopped.expectNoMessage(20.millis)
    gone.success(burst.invoker.driver.StopOutcome.Gone)
    stopped.receiveMessage()
