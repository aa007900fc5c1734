package burst.controller.cluster

import burst.controller.invokers.InvokerRegistry
import burst.controller.scheduler.InvokerLoss
import burst.protocol.*
import burst.protocol.link.*
import com.typesafe.config.ConfigFactory
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import org.apache.pekko.actor.typed.delivery.{ConsumerController, ProducerController}
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** The acceptor and its sessions; the test plays the invoker and the registry. */
class SessionAcceptorSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  // between processes messages are split, and so serialized; this makes it happen here, too
  private val chunk = ConfigFactory
    .parseString("pekko.reliable-delivery.producer-controller.chunk-large-messages = 64KiB")
  private lazy val kit = ActorTestKit(chunk.withFallback(ConfigFactory.load()))
  override def afterAll(): Unit = kit.shutdownTestKit()

  private val status = InvokerStatus(InvokerId("i"), 4, 0, "process", 0, RuntimeInfo("x86_64", "2.36"))

  private class Fixture(contact: FiniteDuration = 1.hour, spoken: Versions = Protocol.Nodes):
    val registry: TestProbe[InvokerRegistry.Command] = kit.createTestProbe()
    val invoker: TestProbe[ToLink] = kit.createTestProbe()
    val acceptor: ActorRef[Hello] =
      kit.spawn(SessionAcceptor(epoch = 5, SessionSettings(contact, 1.milli), registry.ref, spoken))

    def hello(tries: Long, from: TestProbe[ToLink] = invoker, home: String = "own"): Unit =
      acceptor ! Hello.own(status.id, tries, from.ref, home)

    private val demand = kit.createTestProbe[ProducerController.RequestNext[ToController]]()
    private val reports = kit.spawn(ProducerController[ToController]("reports", None))
    reports ! ProducerController.Start(demand.ref)

    def tell(message: ToController): Unit = demand.receiveMessage().sendNextTo ! message

    /** Sends Hello, answers the welcome with a beat, and returns the session and the invoker that the
      * registry gets.
      */
    def join(tries: Long = 1): (Welcome, ActorRef[InvokerRequest]) =
      hello(tries)
      val welcome = invoker.expectMessageType[Welcome]
      welcome.session ! Beat(1, status, reports)
      invoker.expectMessage(Seen(1, free = Some(false)))
      (welcome, registry.expectMessageType[RegisterInvoker[InvokerRequest]].invoker)

    /** Returns the commands sent to the invoker, one at a time, however they travel. */
    def commands(welcome: Welcome): () => ToInvoker =
      val probe = kit.createTestProbe[ConsumerController.Delivery[ToInvoker]]()
      val consumer = kit.spawn(ConsumerController[ToInvoker]())
      consumer ! ConsumerController.Start(probe.ref)
      consumer ! ConsumerController.RegisterToProducerController(welcome.toInvoker)
      var come = Vector.empty[ToInvoker]
      () =>
        if come.isEmpty then
          val delivery = probe.receiveMessage()
          delivery.confirmTo ! ConsumerController.Confirmed
          come = delivery.message match
            case InvokerBundle(messages) => messages
            case single => Vector(single)
        val first = come.head
        come = come.tail
        first

  test("an invoker is up with its first beat, and each beat is acknowledged"):
    val fixture = Fixture()
    val (welcome, _) = fixture.join()
    assertEquals((welcome.epoch, welcome.tries), (5L, 1L))
    welcome.session ! Beat(2, status, fixture.invoker.ref.unsafeUpcast[Any])
    fixture.invoker.expectMessage(Seen(2, free = Some(false)))
    fixture.registry.expectMessage(Heartbeat(status))

  test("a message that nobody waits for is sent soon, and before later ones"):
    val fixture = Fixture()
    val (welcome, up) = fixture.join()
    val commands = fixture.commands(welcome)
    val flare = FlareId.random()
    val stored = PackStored(flare, 1, PackId(0), 2, over = true)
    def tell(command: InvokerCommand): Unit = up ! InvokerRequest(command, kit.system.ignoreRef)
    tell(stored)
    assertEquals(commands(), stored)
    tell(stored)
    tell(OutputStored(flare, PackId(0)))
    assertEquals(Vector.fill(2)(commands()), Vector(stored, OutputStored(flare, PackId(0))))

  test("the latest demand is sent with each acknowledged beat"):
    val fixture = Fixture()
    val (welcome, up) = fixture.join()
    val packs = Vector(WantedPacks(4, 256, 2))
    up ! InvokerRequest(WantRoom(packs), kit.system.ignoreRef)
    for beat <- 2 to 3 do
      welcome.session ! Beat(beat, status, fixture.invoker.ref.unsafeUpcast[Any])
      fixture.invoker.expectMessage(Seen(beat, Some(packs), Some(false)))

  test("a leaving invoker learns with each beat whether it is free"):
    val fixture = Fixture()
    val (welcome, up) = fixture.join()
    def beat(number: Long) = welcome.session ! Beat(number, status, fixture.invoker.ref.unsafeUpcast[Any])
    beat(2)
    fixture.invoker.expectMessage(Seen(2, free = Some(false)))
    up ! InvokerRequest(NothingMore, kit.system.ignoreRef)
    for number <- 3L to 4L do
      beat(number)
      fixture.invoker.expectMessage(Seen(number, free = Some(true)))

  test("an outdated Hello ends nothing, and an unanswered one is answered again"):
    val fixture = Fixture()
    // Each welcome carries its own time.
    def welcomed() = fixture.invoker.expectMessageType[Welcome].copy(at = None)
    fixture.hello(2)
    val first = welcomed()
    fixture.hello(2)
    assertEquals(welcomed(), first)
    fixture.hello(1)
    fixture.invoker.expectNoMessage(100.millis)

  test("another try, or another process, ends the old session before its own begins"):
    val fixture = Fixture()
    val (welcome, up) = fixture.join()
    fixture.hello(2)
    fixture.invoker.fishForMessage(60.seconds):
      case Over(session, false) if session == welcome.session =>
        org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes.complete
      case _ => org.apache.pekko.actor.testkit.typed.scaladsl.FishingOutcomes.continueAndIgnore
    fixture.registry.expectMessage(InvokerRegistry.Lost(status.id, up, InvokerLoss.Reconnected))
    val other = kit.createTestProbe[ToLink]()
    fixture.hello(1, other)
    other.expectMessageType[Welcome]

  test("an invoker with an id in use is refused once the other is known to live, and that one continues"):
    val fixture = Fixture()
    val (welcome, _) = fixture.join()
    val other = kit.createTestProbe[ToLink]()
    fixture.hello(1, other, "copy")
    var beats = 1
    val refused = other.awaitAssert:
      beats += 1
      welcome.session ! Beat(beats, status, fixture.invoker.ref.unsafeUpcast[Any])
      other.expectMessageType[Refused](100.millis)
    assert(refused.reason.contains("has the id i and is up"), refused.reason)
    (2 to beats).foreach: number =>
      fixture.invoker.expectMessage(Seen(number, free = Some(false)))
      fixture.registry.expectMessage(Heartbeat(status))

  test("an invoker that was cut off and its replacement with the same id are never up together"):
    val fixture = Fixture(contact = 15.seconds)
    val (_, up) = fixture.join()
    val replacement = kit.createTestProbe[ToLink]()
    // As it does with each heartbeat. The registry learns of the first one's end before the other is
    // welcomed.
    val gone = fixture.registry
    val hellos = kit.system.scheduler.scheduleAtFixedRate(
      java.time.Duration.ZERO,
      java.time.Duration.ofMillis(20),
      () => fixture.hello(1, replacement, "other"),
      kit.system.executionContext
    )
    try
      val welcome = replacement.expectMessageType[Welcome](60.seconds)
      val silent = InvokerLoss.Silent(15.seconds + 1.milli)
      gone.expectMessage(60.seconds, InvokerRegistry.Lost(status.id, up, silent))
      welcome.session ! Beat(1, status, replacement.ref.unsafeUpcast[Any])
      gone.expectMessageType[RegisterInvoker[InvokerRequest]]: Unit
    finally hellos.cancel(): Unit

  test("a silent invoker is notified, and lost"):
    val fixture = Fixture(contact = 15.seconds)
    val (welcome, up) = fixture.join()
    fixture.invoker.expectMessage(60.seconds, Over(welcome.session, handsOver = false))
    val silent = InvokerLoss.Silent(15.seconds + 1.milli)
    fixture.registry.expectMessage(60.seconds, InvokerRegistry.Lost(status.id, up, silent))

  test("an invoker without a common version is refused and told what to upgrade"):
    val fixture = Fixture(spoken = Versions(3, 5))
    def refusal(oldest: Int, newest: Option[Int]): String =
      fixture.acceptor ! Hello(oldest, newest, status.id, 1, fixture.invoker.ref, "own")
      fixture.invoker.expectMessageType[Refused].reason
    assertEquals(
      refusal(2, None),
      s"this invoker (${status.id.value}) speaks version 2 of the protocol between nodes, the controllers " +
        "versions 3 to 5: upgrade this invoker."
    )
    assert(refusal(1, Some(2)).contains("upgrade this invoker"))
    assert(refusal(6, Some(7)).contains("upgrade the controllers"))
    fixture.registry.expectNoMessage(50.millis)

  test("a session uses the newest version that both sides speak"):
    for (oldest, newest, common) <- Vector((2, Some(4), 4), (4, Some(7), 5), (3, None, 3)) do
      val fixture = Fixture(spoken = Versions(3, 5))
      fixture.acceptor ! Hello(oldest, newest, status.id, 1, fixture.invoker.ref, "own")
      assertEquals(fixture.invoker.expectMessageType[Welcome].version, Some(common))

  test("commands reach the invoker, and reports reach those who asked"):
    val fixture = Fixture()
    val (welcome, invoker) = fixture.join()
    val commands = fixture.commands(welcome)
    val flare = FlareId.random()
    val asker = kit.createTestProbe[InvokerReport]()
    val backend = BackendConfig("redis-list", Some("redis://h"), None)
    invoker ! InvokerRequest(StartPack(flare, PackId(0), Vector(None)), asker.ref)
    invoker ! InvokerRequest(CleanFlare(flare, backend), asker.ref)
    assertEquals(commands(), StartPack(flare, PackId(0), Vector(None)))
    assertEquals(commands(), CleanFlare(flare, backend))
    fixture.tell(FlareCleaned(flare, None))
    asker.expectMessage(FlareCleaned(flare, None))

  test("a message that cannot be read ends the session, and a new one may begin"):
    val fixture = Fixture()
    val (welcome, up) = fixture.join()
    val broken = FlareId.random().value.replaceFirst(".", "?").asInstanceOf[FlareId]
    fixture.tell(FlareCleaned(broken, None))
    fixture.invoker.expectMessage(Over(welcome.session, handsOver = false))
    fixture.registry.expectMessage(InvokerRegistry.Lost(status.id, up, InvokerLoss.Unreadable))
    fixture.hello(2)
    fixture.invoker.expectMessageType[Welcome]: Unit

  test("messages that are not for a session do not end it"):
    val fixture = Fixture()
    val (welcome, _) = fixture.join()
    val stranger = welcome.session.unsafeUpcast[Any]
    stranger ! Seen(7)
    stranger ! Farewell
    welcome.session ! Beat(2, status, fixture.invoker.ref.unsafeUpcast[Any])
    fixture.invoker.expectMessage(Seen(2, free = Some(false)))

  test("an invoker that says farewell is unregistered immediately"):
    val fixture = Fixture()
    val (welcome, _) = fixture.join()
    welcome.session ! Farewell("it was stopped")
    assertEquals(fixture.registry.expectMessageType[UnregisterInvoker].reason, "it was stopped")
