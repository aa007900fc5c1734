package burst.invoker.pack

import burst.node.{FairSemaphore, MonotonicTime}
import burst.node.metrics.MetricsRegistry
import burst.invoker.metrics.InvokerMetrics
import burst.invoker.packages.PackageCache
import burst.invoker.InvokerSettings
import burst.invoker.pool.{PackShape, PoolLimits}
import burst.invoker.runtime.RuntimeClient
import burst.protocol.*
import java.nio.file.Path
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}

/** One pack on a fake runtime, a fake driver and a package cache that the test plays. */
final class PackSetup(
    kit: ActorTestKit,
    timeLeft: FiniteDuration = 1.hour,
    timings: PackTimings =
      PackTimings(
        init = 10.seconds,
        abort = 10.seconds,
        deadlineSlack = 100.millis,
        settle = 100.millis,
        slotReturn = None
      )
):
  import munit.Assertions.*

  val runtime: FakeRuntime = FakeRuntime(using kit.system)
  val driver: FakeDriver = FakeDriver(runtime.address)
  val packages: TestProbe[PackageCache.Command] = kit.createTestProbe()
  val controller: TestProbe[PackReport] = kit.createTestProbe()
  val invoker: TestProbe[PackActor.Finished] = kit.createTestProbe()

  val metrics: MetricsRegistry = MetricsRegistry()
  val services: PackServices = PackServices(
    InvokerId("i7"),
    driver,
    packages.ref,
    RuntimeClient(maxLine = 10_000, connectTimeout = 60.seconds, startTimeout = timings.report)(using
      kit.system
    ),
    timings,
    () => Timestamp.now(),
    FairSemaphore(1L << 20),
    metrics = InvokerMetrics(metrics)
  )

  /** Settings of an invoker with four slots, no pre-warmed containers and one heartbeat an hour. */
  val settings: InvokerSettings = InvokerSettings(
    slots = 4,
    memoryLimit = None,
    PoolLimits(10, 100_000, idle = 1.hour),
    heartbeatInterval = 1.hour,
    prewarmed = 0,
    prewarmedMemory = 16,
    RuntimeInfo("x86_64", "2.36"),
    (_, _) => Future.successful(None)
  )

  val definition: DefinitionRef = DefinitionRef("guest", "hello", "0.0.1", PackageId.of(Array[Byte](1)))
  val assignment: PackAssignment = PackAssignment(
    FlareId.random(),
    attempt = 2,
    definition,
    pack = PackId(1),
    packSizes = Vector(2, 3),
    Inputs.Shared(JsonText("7")),
    BackendConfig("direct", None, None),
    Secret.random(),
    timeLeft = timeLeft,
    memory = 128,
    autostart = false
  )
  val directory: Path = Path.of("/cache/hello")

  def launch(warm: Option[LoadedPack] = None): ActorRef[PackActor.Command] =
    val pack = launch(warm.fold(Supply.Nothing)(Supply.Warm(_)))
    // as the invoker reports it
    warm.map(_.container).foreach: container =>
      container.exit.foreach(exit => pack ! PackActor.Exited(container.id, exit))(using
        ExecutionContext.parasitic
      )
    pack
  def launch(supply: Supply): ActorRef[PackActor.Command] =
    begin(assignment, supply)

  def begin(
      assignment: PackAssignment,
      supply: Supply = Supply.Nothing,
      lease: Option[MonotonicTime] = None
  ): ActorRef[PackActor.Command] =
    val watch = services.metrics.begins(supply.start, assignment.size)
    val actor = kit.spawn(PackActor(services, invoker.ref.unsafeUpcast))
    actor ! PackActor.Begin(assignment, supply, controller.ref, watch, lease)
    actor

  def warm(workers: Int = 3): (LoadedPack, FakeContainer) =
    val container = driver.container()
    (LoadedPack(container, PackShape(definition, workers, assignment.memory), directory), container)

  /** Plays the cache: hands out the package. */
  def givePackage(): Unit = packages.receiveMessage() match
    case PackageCache.Acquire(id, replyTo) if id == definition.packageId => replyTo ! Right(directory)
    case other => fail(s"unexpected: $other")

  def expectRelease(): Unit =
    assertEquals(packages.receiveMessage(), PackageCache.Release(definition.packageId))
  def expectHeld(): Unit = packages.expectNoMessage(50.millis)

  /** The reports up to the pack's end, and that end. */
  def untilEnded(): (Vector[PackReport], PackEvent.PackEnded) =
    val report = controller.receiveMessage(60.seconds)
    assertEquals((report.flareId, report.attempt, report.pack), (assignment.flareId, 2, PackId(1)))
    report.events.lastOption match
      case Some(ended: PackEvent.PackEnded) => (Vector(report), ended)
      case _ =>
        val (reports, ended) = untilEnded()
        (report +: reports, ended)

  def endedBadly(): Failure =
    val (_, ended) = untilEnded()
    assert(!ended.reusable)
    assertEquals(invoker.receiveMessage().pack, None)
    controller.expectNoMessage(20.millis)
    val failure = ended.error.getOrElse(fail("an end without a reason"))
    assertEquals((failure.invoker, failure.pack), (Some(InvokerId("i7")), Some(PackId(1))))
    failure

  /** A pack of a group that is up and idle. */
  def resting(): ActorRef[PackActor.Command] =
    val group =
      assignment.copy(attempt = 1, group = Some(GroupRole.Holder(1.second)), timeLeft = Duration.Zero)
    val actor = begin(group)
    givePackage()
    assertEquals(
      controller.receiveMessage().events.map(_.getClass),
      Vector(PackEvent.Ready(None, Timestamp.Epoch).getClass)
    )
    actor

  /** A flare of that group, with the probe that receives its reports. */
  def flare(): (PackActor.Run, TestProbe[PackReport]) =
    val probe = kit.createTestProbe[PackReport]()
    val role = Some(GroupRole.Member(assignment.flareId))
    (PackActor.Run(assignment.copy(flareId = FlareId.random(), attempt = 1, group = role), probe.ref), probe)

  /** A cold pack that the runtime has taken. */
  def running(): (ActorRef[PackActor.Command], FakePack) =
    val actor = launch()
    givePackage()
    (actor, runtime.pack())

  val ready: PackEvent = PackEvent.Ready(Some("10.0.0.1:4000"), Timestamp.ofMicros(1))
  def ended(reusable: Boolean, error: Option[Failure] = None): PackEvent =
    PackEvent.PackEnded(reusable, error, Timestamp.ofMicros(9))
