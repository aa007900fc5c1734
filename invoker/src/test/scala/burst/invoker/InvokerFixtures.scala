package burst.invoker

import burst.invoker.pack.PackSetup
import burst.protocol.*
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, FishingOutcomes, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.Future

/** Tests of an invoker on a fake runtime and driver. */
abstract class InvokerFixtures extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  protected lazy val kit = ActorTestKit()
  override def afterAll(): Unit = kit.shutdownTestKit()

  /** An invoker on a fake runtime and driver; the test plays controller and package cache. */
  protected class InvokerFixture(
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
      send(PreparePack(assignment))

    def send(command: InvokerCommand): Unit =
      invoker ! InvokerRequest(command, setup.controller.ref.unsafeUpcast)

    def another: PackAssignment = setup.assignment.copy(flareId = FlareId.random())

    def ended(): PackEvent.PackEnded =
      setup.controller.receiveMessage().events.last match
        case ended: PackEvent.PackEnded => ended
        case _ => this.ended()

    /** Runs the assignment cold to its successful end. */
    def warmUp(assignment: PackAssignment = setup.assignment): Unit =
      prepare(assignment)
      setup.givePackage()
      end(setup.runtime.pack())

    def end(pack: burst.invoker.pack.FakePack): Unit =
      pack.send(
        PackEvent.Ready(None, Timestamp.ofMicros(1)),
        PackEvent.PackEnded(true, None, Timestamp.ofMicros(2))
      )
      pack.end()
      assert(ended().reusable)

  protected val fixture = FunFixture[InvokerFixture](_ => InvokerFixture(), _.setup.runtime.close())
  protected def fixtureWith(make: => InvokerFixture) =
    FunFixture[InvokerFixture](_ => make, _.setup.runtime.close())

  protected def prewarmedPacks(fixture: InvokerFixture, count: Int): Unit =
    val _ = fixture.controller.fishForMessage(20.seconds):
      case Heartbeat(status) if status.prewarmedPacks == count => FishingOutcomes.complete
      case _ => FishingOutcomes.continueAndIgnore
