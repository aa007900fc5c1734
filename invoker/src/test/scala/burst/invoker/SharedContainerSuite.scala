package burst.invoker

import burst.invoker.driver.ContainerExit
import burst.invoker.pack.{FakePack, Gate, PackSetup}
import burst.invoker.packages.PackageCache
import burst.protocol.*
import java.nio.file.Path
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.http.scaladsl.model.{HttpResponse, StatusCodes}
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Future, Promise}

/** Calls of an action that run in one container. */
class SharedContainerSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  private class Fixture:
    val setup: PackSetup = PackSetup(kit)
    private val controller: TestProbe[RegistryCommand[Invoker.Command]] = kit.createTestProbe()
    private val settings = setup.settings.copy(memoryLimit = Some(300))
    val invoker: ActorRef[Invoker.Command] =
      kit.spawn(Invoker(settings, setup.services, () => 0.25, controller.ref))

    val definition: DefinitionRef = setup.definition.copy(kind = "nodejs:20", concurrency = 3)
    private def aCall = setup.assignment.copy(
      FlareId.random(),
      attempt = 1,
      definition = definition,
      pack = PackId(0),
      packSizes = Vector(1),
      autostart = true,
      invocation = Environment(Map("activation_id" -> "a1"))
    )

    /** A call, with the probe that receives its reports. */
    final class Call(container: Option[SharedContainer] = None):
      private val plain = aCall
      val own: SharedContainer = SharedContainer(plain.flareId, 1)
      val assignment: PackAssignment = plain.copy(shared = Some(container.getOrElse(own)))
      val probe: TestProbe[PackReport] = kit.createTestProbe()

      def prepare(): Call =
        invoker ! InvokerRequest(PreparePack(assignment), probe.ref.unsafeUpcast)
        this

      def abort(): Unit =
        val failure = Failure(FailureKind.Cancelled, "not any more")
        invoker ! InvokerRequest(AbortPack(assignment.flareId, PackId(0), failure), probe.ref.unsafeUpcast)

      /** The call is about to begin. */
      def begins(): Unit = assertEquals(probe.receiveMessage(60.seconds).begins, Some(true))

      def ended(): PackEvent.PackEnded = probe.receiveMessage(60.seconds).events.lastOption match
        case Some(ended: PackEvent.PackEnded) => ended
        case _ => this.ended()

      /** The call has ended without having begun, as the container takes no more calls. */
      def expectRefused(): Unit =
        begins()
        assertEquals(probe.receiveMessage(60.seconds).begins, Some(false))
        val end = ended()
        assert(!end.reusable)
        val why = end.error.map(error => (error.kind, error.operation))
        assertEquals(why, Some((FailureKind.PackLost, Some("start"))))

      def start(): Option[PackStart] = probe.receiveMessage(60.seconds).start.orElse(start())

    /** The program runs the next call; returns that call's pack. */
    def runs(): FakePack =
      val pack = setup.runtime.pack()
      pack.send(
        PackEvent.Ready(None, Timestamp.ofMicros(1)),
        PackEvent.WorkerStarted(0, Timestamp.ofMicros(1))
      )
      pack

    def finish(pack: FakePack, reusable: Boolean = true): Unit =
      pack.send(PackEvent.PackEnded(reusable, None, Timestamp.ofMicros(2)))
      pack.end()

    def reply(request: PackageCache.Command, answer: Either[Failure, Path] = Right(setup.directory)): Unit =
      request match
        case PackageCache.Acquire(_, replyTo) => replyTo ! answer
        case other => fail(s"unexpected: $other")

    /** Makes the runtime take no more calls. */
    def refuse(): Unit = setup.runtime.refusePacks =
      Some(HttpResponse(StatusCodes.Conflict, entity = """{"error":"it is being ended"}"""))

    /** The call that created the container, with its program up. */
    def opened(): (Call, FakePack) =
      val call = Call().prepare()
      setup.givePackage()
      val pack = runs()
      assertEquals(call.start(), Some(PackStart.Cold))
      (call, pack)

  private val fixture = FunFixture[Fixture](_ => Fixture(), _.setup.runtime.close())

  fixture.test("calls run in one container, which is kept when the last of them has ended"): fixture =>
    import fixture.*
    val (first, one) = opened()
    val second = Call(Some(first.own)).prepare()
    setup.givePackage()
    val two = runs()
    assertEquals(two.request.flareId, second.assignment.flareId)
    assertEquals(second.start(), Some(PackStart.Warm))
    assertEquals(setup.runtime.program(), (Some("nodejs:20"), None))
    finish(one)
    assert(first.ended().reusable)
    // it no longer holds the package, and the other call still does
    assertEquals(setup.packages.receiveMessage(), PackageCache.Release(definition.packageId))
    assertEquals(setup.driver.disconnected.size, 0)
    finish(two)
    assert(second.ended().reusable)
    setup.expectHeld()
    assertEquals((setup.driver.started.size, setup.driver.connected.size), (1, 1))
    val again = Call().prepare()
    val three = runs()
    assertEquals(again.start(), Some(PackStart.Warm))
    assertEquals(setup.driver.disconnected.size, 1)
    val fourth = Call(Some(again.own)).prepare()
    setup.givePackage()
    Vector(three, runs()).foreach(finish(_))
    Vector(again, fourth).foreach(call => assert(call.ended().reusable))
    assertEquals((setup.driver.started.size, setup.driver.stops), (1, Vector.empty))

  fixture.test("a call that arrives while the container starts waits for it"): fixture =>
    import fixture.*
    val first = Call().prepare()
    val second = Call(Some(first.own)).prepare()
    setup.givePackage()
    val one = runs()
    assertEquals(first.start(), Some(PackStart.Cold))
    setup.givePackage()
    val two = runs()
    assertEquals(second.start(), Some(PackStart.Warm))
    Vector(two, one).foreach(finish(_))
    Vector(first, second).foreach(call => assert(call.ended().reusable))
    assertEquals(setup.driver.started.size, 1)

  fixture.test("if the container does not start, one of the waiting calls creates another"): fixture =>
    import fixture.*
    val started = Promise[Option[Failure]]()
    setup.driver.beforeStart = started.future
    val first = Call().prepare()
    val (second, third) = (Call(Some(first.own)).prepare(), Call(Some(first.own)).prepare())
    setup.givePackage()
    first.probe.awaitAssert(assertEquals(setup.driver.started.size, 1))
    setup.driver.beforeStart = Future.successful(None)
    started.success(Some(Failure(FailureKind.StartFailed, "no room on the disk")))
    assertEquals(first.ended().error.map(_.message), Some("no room on the disk"))
    setup.expectRelease()
    setup.givePackage()
    val two = runs()
    setup.givePackage()
    val three = runs()
    Vector(two, three).foreach(finish(_))
    Vector(second, third).foreach(call => assert(call.ended().reusable))
    assertEquals(setup.driver.started.size, 2)

  fixture.test("a waiting call can be aborted, and one whose container has ended creates another"): fixture =>
    import fixture.*
    val first = Call().prepare()
    val second = Call(Some(first.own)).prepare()
    second.abort()
    assertEquals(second.ended().error.map(_.kind), Some(FailureKind.Cancelled))
    setup.givePackage()
    val one = runs()
    finish(one, reusable = false)
    assert(!first.ended().reusable)
    setup.expectRelease()
    val third = Call(Some(first.own)).prepare()
    setup.givePackage()
    finish(runs())
    assert(third.ended().reusable)
    assertEquals(setup.driver.started.size, 2)

  fixture.test("all calls of a container that dies end"): fixture =>
    import fixture.*
    val (first, one) = opened()
    val second = Call(Some(first.own)).prepare()
    setup.givePackage()
    val two = runs()
    assertEquals(second.start(), Some(PackStart.Warm))
    setup.driver.lastContainer.ended.success(ContainerExit(Some(137), oomKilled = false))
    Vector(one, two).foreach(_.end())
    Vector(first, second).foreach: call =>
      assertEquals(call.ended().error.map(_.kind), Some(FailureKind.PackLost))
    setup.expectRelease()
    setup.expectRelease()

  fixture.test("a call that the container's runtime refuses has not begun, and the others keep it"):
    fixture =>
      import fixture.*
      val (first, one) = opened()
      refuse()
      val second = Call(Some(first.own)).prepare()
      setup.givePackage()
      second.expectRefused()
      setup.expectRelease()
      assertEquals((setup.driver.started.size, setup.driver.stops), (1, Vector.empty))
      finish(one)
      assert(first.ended().reusable)

  fixture.test("a call that is aborted before it has joined does not harm the container"): fixture =>
    import fixture.*
    val (first, one) = opened()
    val second = Call(Some(first.own)).prepare()
    val request = setup.packages.receiveMessage()
    second.abort()
    // which the second call knows when the third one begins
    val third = Call(Some(first.own)).prepare()
    val later = setup.packages.receiveMessage()
    reply(request)
    assertEquals(second.ended().error.map(_.kind), Some(FailureKind.Cancelled))
    setup.expectRelease()
    reply(later)
    Vector(runs(), one).foreach(finish(_))
    Vector(third, first).foreach(call => assert(call.ended().reusable))
    assertEquals((setup.driver.started.size, setup.driver.stops), (1, Vector.empty))

  fixture.test("a call that ended badly leaves the container to the others, and the last one removes it"):
    fixture =>
      import fixture.*
      val (first, one) = opened()
      val second = Call(Some(first.own)).prepare()
      setup.givePackage()
      val two = runs()
      assertEquals(second.start(), Some(PackStart.Warm))
      finish(one, reusable = false)
      assert(!first.ended().reusable)
      setup.expectRelease()
      // it was on its way before the bad end was known
      refuse()
      val third = Call(Some(first.own)).prepare()
      setup.givePackage()
      third.expectRefused()
      setup.expectRelease()
      assertEquals(setup.driver.stops, Vector.empty)
      finish(two, reusable = false)
      assert(!second.ended().reusable)
      setup.expectRelease()
      assertEquals((setup.driver.started.size, setup.driver.stops.size), (1, 1))

  fixture.test("an empty container that takes no more calls is removed by the last that tried"): fixture =>
    import fixture.*
    val (first, one) = opened()
    val second = Call(Some(first.own)).prepare()
    val request = setup.packages.receiveMessage()
    finish(one)
    assert(first.ended().reusable)
    setup.expectRelease()
    refuse()
    reply(request)
    second.expectRefused()
    setup.expectRelease()
    assertEquals((setup.driver.started.size, setup.driver.stops.size), (1, 1))

  fixture.test("an empty container is removed if the last call that tried does not get its package"):
    fixture =>
      import fixture.*
      val (first, one) = opened()
      val second = Call(Some(first.own)).prepare()
      val request = setup.packages.receiveMessage()
      finish(one)
      assert(first.ended().reusable)
      setup.expectRelease()
      reply(request, Left(Failure(FailureKind.StartFailed, "no package")))
      assertEquals(second.ended().error.map(_.message), Some("no package"))
      setup.expectRelease()
      assertEquals((setup.driver.started.size, setup.driver.stops.size), (1, 1))

  fixture.test(
    "a kept container is joined once it runs a call again, and no call is lost with the first one"
  ): fixture =>
    import fixture.*
    val (first, one) = opened()
    finish(one)
    assert(first.ended().reusable)
    setup.expectHeld()
    val gate = Gate()
    setup.runtime.gate = Some(gate)
    // both were already on their way
    val second = Call(Some(first.own)).prepare()
    second.begins()
    gate.reached()
    val third = Call(Some(first.own)).prepare()
    second.abort()
    assertEquals(second.ended().error.map(_.kind), Some(FailureKind.Cancelled))
    setup.expectRelease()
    setup.runtime.gate = None
    setup.givePackage()
    val three = runs()
    assertEquals(three.request.flareId, third.assignment.flareId)
    assertEquals(third.start(), Some(PackStart.Cold))
    val fourth = Call(Some(first.own)).prepare()
    setup.givePackage()
    Vector(three, runs()).foreach(finish(_))
    Vector(third, fourth).foreach(call => assert(call.ended().reusable))
    assertEquals((setup.driver.started.size, setup.driver.stops.size), (2, 1))

  fixture.test("a call aborted while the runtime takes it in ends, and the others continue"): fixture =>
    import fixture.*
    val (first, one) = opened()
    val gate = Gate()
    setup.runtime.gate = Some(gate)
    val second = Call(Some(first.own)).prepare()
    setup.givePackage()
    second.begins()
    gate.reached()
    second.abort()
    gate.release()
    val two = setup.runtime.pack()
    assertEquals(setup.runtime.order()._1, "abort")
    two.send(PackEvent.PackEnded(
      false,
      Some(Failure(FailureKind.Cancelled, "not any more")),
      Timestamp.ofMicros(2)
    ))
    two.end()
    assertEquals(second.ended().error.map(_.kind), Some(FailureKind.Cancelled))
    setup.expectRelease()
    finish(one)
    assert(first.ended().reusable)
    assertEquals((setup.driver.started.size, setup.driver.stops), (1, Vector.empty))
