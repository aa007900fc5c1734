package burst.invoker

import burst.invoker.driver.{Driver, DriverHost, DriverKind, DriverSettings, Mount}
import burst.invoker.driver.docker.DockerKind
import burst.invoker.driver.kubernetes.KubernetesKind
import burst.invoker.driver.process.ProcessKind
import burst.invoker.driver.sandbox.SandboxKind
import burst.node.{FairSemaphore, PrivateFile, RuntimeBinary, Sandboxing, SetupException}
import burst.invoker.heartbeat.CpuLoad
import burst.invoker.metrics.{InvokerMetrics, PackageMetrics}
import burst.invoker.pack.{PackServices, PackSpanSinks}
import burst.invoker.packages.PackageCache
import burst.invoker.runtime.RuntimeClient
import burst.node.metrics.MetricsRegistry
import burst.node.traces.{TracedService, Traces}
import burst.protocol.{RegistryCommand, RuntimeInfo, Timestamp}
import java.util.concurrent.{ExecutorService, Executors}
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.typed.scaladsl.AskPattern.*
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, DispatcherSelector}
import org.apache.pekko.util.Timeout
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, TimeoutException}

/** An invoker whose driver works and which has removed what an earlier process left. `packs` describes how
  * its packs are run, for whoever starts it.
  */
final class PreparedInvoker private[invoker] (
    config: InvokerConfig,
    driver: Driver,
    private[invoker] val packs: String,
    runtime: RuntimeInfo,
    threads: ExecutorService
):

  /** Registers it with a controller, for which it then works. */
  def start(
      controller: ActorRef[RegistryCommand[Invoker.Command]],
      metrics: MetricsRegistry = MetricsRegistry(),
      traces: Traces = Traces.Off
  )(using system: ActorSystem[?]): RunningInvoker =
    val packages = system.systemActorOf(
      PackageCache(config.packages, driver.packageForm, controller, PackageMetrics(metrics)),
      "burst-packages",
      DispatcherSelector.blocking()
    )
    val services = PackServices(
      config.id,
      driver,
      packages,
      RuntimeClient(config.maxEvent, config.connectTimeout, config.timings.report),
      config.timings,
      () => Timestamp.now(),
      FairSemaphore(config.outputMemory),
      config.advertise,
      InvokerMetrics(metrics),
      PackSpanSinks(
        traces.of(TracedService.Invoker, config.id.value),
        traces.of(TracedService.Runtime, config.id.value),
        config.tracedPhases
      )
    )
    val binary = RuntimeBinary(config.runtimeBinary)
    val cleaning = ExecutionContext.fromExecutor(threads)
    val settings = InvokerSettings(
      slots = config.slots,
      memoryLimit = config.memoryLimit,
      pool = config.pool,
      heartbeatInterval = config.heartbeatInterval,
      // they would hold room that is promised to others
      prewarmed = if driver.room.isDefined then 0 else config.prewarmed,
      prewarmedMemory = config.prewarmedMemory,
      runtime = runtime,
      clean = (flareId, backend) => binary.cleanup(flareId, backend, config.cleanupTimeout)(using cleaning)
    )
    val invoker =
      system.systemActorOf(Invoker(settings, services, CpuLoad.ofMachine(), controller), "burst-invoker")
    RunningInvoker(invoker, driver, packs, threads)

/** Stops in order: the packs first, then whatever else the driver has. */
final class RunningInvoker private[invoker] (
    val ref: ActorRef[Invoker.Command],
    driver: Driver,
    val packs: String,
    threads: ExecutorService
):

  /** Accepts nothing more; completes when nothing runs, or after `bound`. */
  def drain(bound: FiniteDuration)(using system: ActorSystem[?]): Future[Unit] =
    given Timeout = Timeout(bound)
    ref
      .ask[org.apache.pekko.Done](Invoker.Leave(_))
      .map(_ => ())(using ExecutionContext.parasitic)
      .recover { case _: TimeoutException =>
        Wiring.log.warn("flares still run after {}: their packs are ended", bound.toCoarsest)
      }(using system.executionContext)

  def stop(bound: FiniteDuration)(using system: ActorSystem[?]): Future[Unit] =
    given ExecutionContext = system.executionContext
    given Timeout = Timeout(bound)
    ref
      .ask[org.apache.pekko.Done](Invoker.Stop(bound / Wiring.LastCleanings, _))
      .map(_ => ())
      .recover(problem => Wiring.log.error("packs did not end in time: {}", problem.getMessage))
      .flatMap(_ => driver.close())
      .andThen(_ => threads.shutdownNow())

/** The one place where configuration selects the invoker's parts. */
object Wiring:
  /** The part of a stop's time in which it waits for clean-ups in progress; containers are removed
    * afterwards.
    */
  private[invoker] val LastCleanings = 4
  private[invoker] val log = LoggerFactory.getLogger("burst.invoker.Wiring")
  private val OrphansBound = 60.seconds

  /** The setting that leaves the choice of a driver to the invoker. */
  private val Auto = "auto"

  /** All drivers. */
  private val Drivers: Vector[DriverKind] = Vector(ProcessKind, SandboxKind, DockerKind, KubernetesKind)

  /** None for an unknown name, and for `auto`, which chooses a driver whose packs are on this machine. */
  private[invoker] def kindNamed(name: String): Option[DriverKind] = Drivers.find(_.name == name)

  /** Prepares everything that packs need; blocks. Throws `SetupException` with what to do about a problem. */
  def prepare(settings: InvokerConfig): PreparedInvoker =
    PrivateFile.directory(settings.directory)
    val threads = Executors.newCachedThreadPool(namedThreads("burst-invoker"))
    val choice = kindOf(settings)
    val kind = choice.kind
    val config = settings.reached(kind.sharesAddress)
    val connected = kind.connect(DriverSettings(config.settings, kind.name), host(config, threads))
    val driver = connected.driver
    log.info("packs are of the driver {}: {}", driver.name, driver.limits)
    val orphans = scala.concurrent.Await.result(driver.removeOrphans(), OrphansBound)
    if orphans > 0 then log.warn("removed {} containers that an earlier run left", orphans)
    driver.open()
    val packs = s"packs are run by the driver ${driver.name}${choice.because}"
    PreparedInvoker(config, driver, packs, connected.runtime, threads)

  /** A driver, and the rest of the sentence that names it. */
  private final case class Choice(kind: DriverKind, because: String)

  private def kindOf(config: InvokerConfig): Choice =
    if config.driver == Auto then safest(config)
    else
      val kind = kindNamed(config.driver).getOrElse(throw unknown(config.driver))
      Choice(kind, if kind == ProcessKind then Exposed else "")

  /** Isolates packs if the kernel allows it. */
  private def safest(config: InvokerConfig): Choice =
    RuntimeBinary(config.runtimeBinary).sandboxing() match
      case Sandboxing.Possible(_) => Choice(SandboxKind, ", which isolates each of them")
      case Sandboxing.Impossible(reason) =>
        val moved = Mount.read(DriverSettings(config.settings, SandboxKind.name)).filter(_.isElsewhere)
        for mount <- moved.headOption do
          throw SetupException(
            s"packs are processes, as they cannot be isolated here ($reason), and see ${mount.source} where it " +
              "is: mount it under its own name."
          )
        Choice(ProcessKind, s"$Exposed. They cannot be isolated here: $reason")

  private val Exposed = ", without isolation: what they run has the rights of this user"

  private def unknown(name: String) =
    val known = (Auto +: Drivers.map(_.name)).map(name => s"\"$name\"")
    SetupException(s"burst.invoker.driver is '$name': give ${known.init.mkString(", ")} or ${known.last}.")

  private def host(config: InvokerConfig, cached: ExecutorService) = new DriverHost:
    def directory = config.directory
    def runtimeBinary = config.runtimeBinary
    def slots = config.slots
    def containers = config.slots + config.pool.packs + config.prewarmed
    def advertise = config.advertise
    def blocking = ExecutionContext.fromExecutor(cached)
    def threads(name: String, count: Int) =
      ExecutionContext.fromExecutor(Executors.newFixedThreadPool(count, namedThreads(name)))

  private def namedThreads(name: String): java.util.concurrent.ThreadFactory =
    val serial = AtomicInteger()
    task =>
      val thread = Thread(task, s"$name-${serial.incrementAndGet()}")
      thread.setDaemon(true)
      thread
