package burst.invoker

import burst.node.MonotonicTime
import burst.protocol.*
import burst.protocol.link.*
import com.typesafe.config.ConfigFactory
import org.apache.pekko.Done
import org.apache.pekko.actor.ActorSelection
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, FishingOutcomes, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.delivery.{ConsumerController, ProducerController}
import org.apache.pekko.actor.typed.scaladsl.adapter.*
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** The invoker's end of sessions; the test plays endpoint, session and invoker. */
class ControllerLinkSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  // between processes messages are split, and so serialized; this makes it happen here, too
  private val chunk = ConfigFactory
    .parseString("pekko.reliable-delivery.producer-controller.chunk-large-messages = 64KiB")
  private lazy val kit = ActorTestKit(chunk.withFallback(ConfigFactory.load()))
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val status = InvokerStatus(InvokerId("i"), 4, 0, "process", 0, RuntimeInfo("x86_64", "2.36"))

  private class Fixture:
    val endpoint: TestProbe[Hello] = kit.createTestProbe()
    val events: TestProbe[ControllerLink.Event] = kit.createTestProbe()
    val invoker: TestProbe[Invoker.Command] = kit.createTestProbe()
    val link: ActorRef[RegistryCommand[Invoker.Command]] =
      kit.spawn(ControllerLink(
        ControllerLink.Settings(
          Vector(SessionEndpoint(ActorSelection(endpoint.ref.toClassic, ""))),
          "own",
          "",
          1L << 20
        ),
        events.ref
      ))
    link ! RegisterInvoker(status, invoker.ref)

    val session: TestProbe[ToSession] = kit.createTestProbe()
    val demand: TestProbe[ProducerController.RequestNext[ToInvoker]] = kit.createTestProbe()

    def welcome(
        hello: Hello,
        epoch: Long = 1,
        contact: FiniteDuration = 1.hour,
        demand: TestProbe[ProducerController.RequestNext[ToInvoker]] = demand
    ): Welcome =
      val commands = kit.spawn(ProducerController[ToInvoker]("commands", None))
      commands ! ProducerController.Start(demand.ref)
      // This version sends messages one by one.
      val version = Some(Bundling.Since - 1)
      val welcome =
        Welcome(
          epoch,
          version,
          hello.tries,
          contact,
          session.ref,
          commands,
          at = Some(Timestamp.ofMicros(1000 + epoch))
        )
      hello.from ! welcome
      welcome

    def reports(beat: Beat): TestProbe[ConsumerController.Delivery[ToController]] =
      val probe = kit.createTestProbe[ConsumerController.Delivery[ToController]]()
      val consumer = kit.spawn(ConsumerController[ToController]())
      consumer ! ConsumerController.Start(probe.ref)
      consumer ! ConsumerController.RegisterToProducerController(beat.toController)
      probe

    def ended(): Unit = invoker.fishForMessage(60.seconds) {
      case Invoker.EndPacks(_, replyTo) =>
        replyTo ! Done
        org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes.complete
      case _ => org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes.continueAndIgnore
    }

  test("says Hello with every heartbeat until it is welcomed, then beats"):
    val fixture = Fixture()
    assertEquals(fixture.endpoint.receiveMessage().tries, 1L)
    fixture.link ! Heartbeat(status)
    fixture.welcome(fixture.endpoint.receiveMessage())
    fixture.events.expectMessage(ControllerLink.Event.Joined)
    assertEquals(fixture.session.expectMessageType[Beat].number, 1L)
    fixture.link ! Heartbeat(status)
    assertEquals(fixture.session.expectMessageType[Beat].number, 2L)
    fixture.endpoint.expectNoMessage(50.millis)

  test("an invoker whose id is in use is turned away while it connects"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    assertEquals((hello.versions, hello.id, hello.home), (Protocol.Nodes, status.id, "own"))
    hello.from ! Refused("there is another one")
    fixture.events.expectMessage(ControllerLink.Event.Refused("there is another one"))
    fixture.welcome(hello)
    fixture.events.expectMessage(ControllerLink.Event.Joined)
    hello.from ! Refused("that was late")
    fixture.events.expectNoMessage(50.millis)

  test("commands reach the invoker, and its reports reach the session"):
    val fixture = Fixture()
    fixture.welcome(fixture.endpoint.receiveMessage())
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    val reports = fixture.reports(fixture.session.expectMessageType[Beat])
    val flare = FlareId.random()
    val clean = CleanFlare(flare, BackendConfig("redis-list", Some("redis://h"), None))
    fixture.demand.receiveMessage().sendNextTo ! clean
    val request = fixture.invoker.expectMessageType[InvokerRequest]
    assertEquals(request.command, clean)
    request.replyTo ! FlareCleaned(flare, None)
    val first = reports.receiveMessage()
    assertEquals(first.message, Holds(Vector.empty, unbroken = false))
    first.confirmTo ! ConsumerController.Confirmed
    assertEquals(reports.receiveMessage().message, FlareCleaned(flare, None))

  test("the commands of a bundle are obeyed in order"):
    val fixture = Fixture()
    fixture.welcome(fixture.endpoint.receiveMessage())
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    val (one, other) = (OutputStored(FlareId.random(), PackId(0)), OutputStored(FlareId.random(), PackId(1)))
    fixture.demand.receiveMessage().sendNextTo ! InvokerBundle(Vector(one, other))
    def next() = fixture.invoker.expectMessageType[InvokerRequest].command
    assertEquals(Vector(next(), next()), Vector[InvokerCommand](one, other))

  test("messages of any length arrive"):
    val fixture = Fixture()
    fixture.welcome(fixture.endpoint.receiveMessage())
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    val flare = FlareId.random()
    // about the length of a chunk, and more chunks than can be on their way at the same time
    val lengths = (64 * 1024 - 200 to 64 * 1024).by(20) :+ 8 * 1024 * 1024
    lengths.foreach: length =>
      val abort = AbortPack(flare, PackId(1), Failure(FailureKind.Error, "x" * length))
      fixture.demand.receiveMessage().sendNextTo ! abort
      assertEquals(fixture.invoker.expectMessageType[InvokerRequest].command, abort)

  test("a message that cannot be read ends the session, but not the invoker"):
    val fixture = Fixture()
    fixture.welcome(fixture.endpoint.receiveMessage())
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    val broken = FlareId.random().value.replaceFirst(".", "?").asInstanceOf[FlareId]
    fixture.demand.receiveMessage().sendNextTo ! OutputStored(broken, PackId(0))
    val ending = fixture.invoker.expectMessageType[Invoker.EndPacks]
    assert(ending.failure.message.contains("cannot be read"), ending.failure.message)
    ending.replyTo ! Done
    val again = fixture.endpoint.receiveMessage()
    assertEquals(again.tries, 2L)
    fixture.welcome(again)
    fixture.events.expectMessage(ControllerLink.Event.Joined)
    fixture.events.expectMessage(ControllerLink.Event.Joined)

  test("when no beat is acknowledged for too long, every pack is killed before the next Hello"):
    val fixture = Fixture()
    fixture.welcome(fixture.endpoint.receiveMessage(), contact = 100.millis)
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    val ending = fixture.invoker.expectMessageType[Invoker.EndPacks]
    assertEquals(ending.failure.kind, FailureKind.InvokerLost)
    fixture.link ! Heartbeat(status)
    fixture.endpoint.expectNoMessage(50.millis)
    ending.replyTo ! Done
    assertEquals(fixture.endpoint.receiveMessage().tries, 2L)

  test("acknowledged beats keep the session and extend the packs' lease"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    val contact = 20.seconds
    fixture.welcome(hello, contact = contact)
    val first = fixture.invoker.expectMessageType[Invoker.RenewLease].until
    var lease = first
    // For longer than a session lasts without an acknowledged beat.
    while MonotonicTime.now() <= first do
      hello.from ! Seen(fixture.session.expectMessageType[Beat].number)
      val next = fixture.invoker.expectMessageType[Invoker.RenewLease].until
      assert(next >= lease && next <= MonotonicTime.now() + contact)
      lease = next
      fixture.link ! Heartbeat(status)
    assert(lease > first)
    fixture.invoker.expectNoMessage(50.millis)

  test("unchanged demand is passed on once, and withdrawn without a session"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    val welcome = fixture.welcome(hello)
    val packs = Vector(WantedPacks(workers = 4, memory = 256, count = 2))
    for beat <- 1 to 2 do hello.from ! Seen(beat, Some(packs))
    hello.from ! Over(welcome.session, handsOver = false)
    val messages = Vector.fill(2):
      fixture.invoker.fishForMessage(60.seconds):
        case InvokerRequest(_: WantRoom, _) => FishingOutcomes.complete
        case _ => FishingOutcomes.continueAndIgnore
      .last
    assertEquals(
      messages.collect { case InvokerRequest(WantRoom(packs), _) => packs },
      Vector(packs, Vector.empty)
    )

  test("a leaving invoker learns with each acknowledged beat whether it is free"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    fixture.welcome(hello)
    def nextAcknowledgement(): Option[Boolean] =
      val messages = fixture.invoker.fishForMessage(60.seconds):
        case _: Invoker.LeaveAcknowledged => FishingOutcomes.complete
        case _ => FishingOutcomes.continueAndIgnore
      messages.collectFirst { case Invoker.LeaveAcknowledged(free) => free }.flatten
    hello.from ! Seen(fixture.session.expectMessageType[Beat].number)
    fixture.link ! Heartbeat(status.copy(leaving = Some(true)))
    val beat = fixture.session.expectMessageType[Beat].number
    for free <- Vector(None, Some(false), Some(true)) do
      hello.from ! Seen(beat, free = free)
      assertEquals(nextAcknowledgement(), free)

  test("an invoker that is not free waits for a silent scheduler, and not for one that hands over"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    val welcome = fixture.welcome(hello, contact = 60.seconds)
    val leaving = status.copy(leaving = Some(true))
    fixture.link ! Heartbeat(leaving)
    hello.from ! Seen(1, free = Some(false))
    // The scheduler counts as silent once another one is looked for.
    kit.createTestProbe[Any]().awaitAssert(
      {
        fixture.link ! Heartbeat(leaving)
        fixture.endpoint.receiveMessage(100.millis)
      },
      40.seconds
    )
    val received = Iterator.continually(scala.util.Try(fixture.invoker.receiveMessage(50.millis)).toOption)
    val messages = received.takeWhile(_.isDefined).flatten.toVector
    assert(!messages.contains(Invoker.LeaveAcknowledged(None)), messages)
    hello.from ! Over(welcome.session, handsOver = true)
    fixture.link ! Heartbeat(leaving)
    val _ = fixture.invoker.fishForMessage(60.seconds):
      case Invoker.LeaveAcknowledged(None) => FishingOutcomes.complete
      case _ => FishingOutcomes.continueAndIgnore

  test("an invoker that leaves without a session waits for nobody"):
    val fixture = Fixture()
    fixture.endpoint.receiveMessage()
    fixture.link ! Heartbeat(status.copy(leaving = Some(true)))
    fixture.endpoint.receiveMessage()
    fixture.link ! Heartbeat(status.copy(leaving = Some(true)))
    fixture.invoker.expectMessage(Invoker.LeaveAcknowledged(None))

  test("a session that is over is left, and the end of an older one is ignored"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    val welcome = fixture.welcome(hello)
    fixture.session.expectMessageType[Beat]
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    hello.from ! Over(kit.createTestProbe[ToSession]().ref, handsOver = false)
    fixture.invoker.expectNoMessage(50.millis)
    hello.from ! Over(welcome.session, handsOver = false)
    fixture.ended()
    assertEquals(fixture.endpoint.receiveMessage().tries, 2L)

  test("an invoker that has said farewell begins no other session"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    val welcome = fixture.welcome(hello)
    fixture.session.expectMessageType[Beat]
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    fixture.link ! UnregisterInvoker(status.id, fixture.invoker.ref, "it was stopped")
    fixture.session.expectMessage(Farewell("it was stopped"))
    hello.from ! Over(welcome.session, handsOver = false)
    fixture.link ! Heartbeat(status)
    fixture.invoker.expectNoMessage(50.millis)
    fixture.endpoint.expectNoMessage(50.millis)

  private val assignment = PackAssignment(
    FlareId.random(),
    1,
    DefinitionRef("guest", "hello", "0.0.1", PackageId.Empty),
    PackId(0),
    Vector(1),
    Inputs.Each(Vector(JsonText("1"))),
    BackendConfig("direct", None, None),
    Secret.random(),
    1.second,
    256,
    autostart = true
  )
  private def report(events: PackEvent*) =
    PackReport(assignment.flareId, 1, PackId(0), status.id, None, events.toVector)

  /** A session in which a pack was requested, and the address for the pack's reports. */
  private def withPack(fixture: Fixture, hello: Hello): (Welcome, ActorRef[InvokerReport]) =
    val welcome = fixture.welcome(hello, epoch = 1)
    val reports = fixture.reports(fixture.session.expectMessageType[Beat])
    fixture.demand.receiveMessage().sendNextTo ! PreparePack(assignment)
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    val request = fixture.invoker.expectMessageType[InvokerRequest]
    assertEquals(reports.receiveMessage().message, Holds(Vector.empty, unbroken = false))
    (welcome, request.replyTo)

  test("when a scheduler hands over, the packs and their reports pass to the next one"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    val (welcome, pack) = withPack(fixture, hello)
    pack ! report(PackEvent.WorkerStarted(0, Timestamp.ofMicros(1)))
    hello.from ! Over(welcome.session, handsOver = true)
    val again = fixture.endpoint.receiveMessage()
    assertEquals(again.tries, hello.tries)
    pack ! report(PackEvent.WorkerSucceeded(0, "1", Timestamp.ofMicros(2)))
    val demand = kit.createTestProbe[ProducerController.RequestNext[ToInvoker]]()
    fixture.welcome(again, epoch = 2, demand = demand)
    val reports = fixture.reports(fixture.session.expectMessageType[Beat])
    val held = PackKey(assignment.flareId, 1, PackId(0))
    def next() =
      val delivery = reports.receiveMessage()
      delivery.confirmTo ! ConsumerController.Confirmed
      delivery.message
    assertEquals(next(), Holds(Vector(held), unbroken = false, since = Some(Timestamp.ofMicros(1001))))
    reports.expectNoMessage(50.millis)
    demand.receiveMessage().sendNextTo ! AdoptPack(assignment.flareId, 1, PackId(0))
    assertEquals(next(), report(PackEvent.WorkerStarted(0, Timestamp.ofMicros(1))).copy(number = Some(1)))
    assertEquals(
      next(),
      report(PackEvent.WorkerSucceeded(0, "1", Timestamp.ofMicros(2))).copy(number = Some(2))
    )
    pack ! report(PackEvent.PackEnded(true, None, Timestamp.ofMicros(3)))
    assertEquals(
      next(),
      report(PackEvent.PackEnded(true, None, Timestamp.ofMicros(3))).copy(number = Some(3))
    )

  test("an invoker that was in a session for a while knows all packs that were ever requested from it"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    val welcome = fixture.welcome(hello)
    fixture.events.expectMessage(ControllerLink.Event.Joined)
    // For more than half the time that the next session lasts without an acknowledged beat.
    val contact = 20.seconds
    val deadline = (contact * 6 / 10).fromNow
    while deadline.hasTimeLeft() do
      hello.from ! Seen(fixture.session.expectMessageType[Beat].number)
      fixture.link ! Heartbeat(status)
    hello.from ! Over(welcome.session, handsOver = true)
    fixture.welcome(fixture.endpoint.receiveMessage(), epoch = 2, contact = contact)
    val beat = fixture.session.fishForMessage(60.seconds):
      case beat: Beat if beat.toController.path.name.endsWith("-2") =>
        org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes.complete
      case _ => org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes.continueAndIgnore
    val reports = fixture.reports(beat.collect { case beat: Beat => beat }.last)
    assertEquals(
      reports.receiveMessage().message,
      Holds(Vector.empty, unbroken = true, since = Some(Timestamp.ofMicros(1001)))
    )

  test("when no beat is acknowledged for a while another scheduler is looked for, and the packs continue"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    fixture.welcome(hello, epoch = 1, contact = 60.seconds)
    fixture.session.expectMessageType[Beat]
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    fixture.link ! Heartbeat(status)
    fixture.endpoint.expectNoMessage(20.millis)
    val again = fixture.endpoint.awaitAssert(
      {
        fixture.link ! Heartbeat(status)
        fixture.endpoint.receiveMessage(100.millis)
      },
      40.seconds
    )
    assertEquals(again.tries, hello.tries)
    // the same scheduler answers with its existing session
    fixture.welcome(again, epoch = 1)
    fixture.welcome(again, epoch = 2)
    fixture.invoker.expectMessageType[Invoker.RenewLease]
    fixture.events.expectMessage(ControllerLink.Event.Joined)
    fixture.events.expectMessage(ControllerLink.Event.Joined)

  test("an older scheduler is not followed"):
    val fixture = Fixture()
    val hello = fixture.endpoint.receiveMessage()
    val welcome = fixture.welcome(hello, epoch = 7)
    fixture.session.expectMessageType[Beat]
    hello.from ! Over(welcome.session, handsOver = false)
    fixture.ended()
    val again = fixture.endpoint.receiveMessage()
    fixture.welcome(again, epoch = 6)
    fixture.session.expectNoMessage(100.millis)
    fixture.welcome(again, epoch = 8)
    fixture.session.expectMessageType[Beat]
