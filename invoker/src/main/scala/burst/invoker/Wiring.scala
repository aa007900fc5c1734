package burst.invoker

import burst.invoker.driver.{
  DirectoryId,
  DockerDaemon,
  DockerDriver,
  Driver,
  KubernetesCluster,
  KubernetesDriver,
  ProcessDriver
}
import burst.node.{FairSemaphore, SetupException}
import burst.invoker.heartbeat.CpuLoad
import burst.invoker.pack.PackServices
import burst.invoker.packages.PackageCache
import burst.invoker.runtime.{RuntimeBinary, RuntimeClient}
import burst.protocol.{RegistryCommand, RuntimeInfo}
import java.nio.file.Files
import java.time.Instant
import java.time.temporal.ChronoUnit
import java.util.concurrent.{ExecutorService, Executors}
import java.util.concurrent.atomic.AtomicInteger
import org.apache.pekko.actor.typed.scaladsl.AskPattern.*
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, DispatcherSelector}
import org.apache.pekko.util.Timeout
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}

/** An invoker whose driver works and which has cleared away what an earlier life left. */
final class PreparedInvoker private[invoker] (
    config: InvokerConfig,
    driver: Driver,
    runtime: RuntimeInfo,
    threads: ExecutorService
):

  /** Lets it work for a controller, to which it registers. */
  def start(controller: ActorRef[RegistryCommand[Invoker.Command]])(using
      system: ActorSystem[?]
  ): RunningInvoker =
    val packages = system.systemActorOf(
      PackageCache(config.packages, driver.packageForm, controller),
      "burst-packages",
      DispatcherSelector.blocking()
    )
    val services = PackServices(
      config.id,
      driver,
      packages,
      RuntimeClient(config.maxEvent, config.connectTimeout),
      config.timings,
      () => ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()),
      FairSemaphore(config.outputMemory),
      config.advertise
    )
    val binary = RuntimeBinary(config.runtimeBinary)
    val cleaning = ExecutionContext.fromExecutor(threads)
    val settings = InvokerSettings(
      config.slots,
      config.memoryLimit,
      config.pool,
      config.heartbeatInterval,
      config.prewarmed,
      config.prewarmedMemory,
      runtime,
      (flareId, backend) => binary.cleanup(flareId, backend, config.cleanupTimeout)(using cleaning)
    )
    val invoker =
      system.systemActorOf(Invoker(settings, services, CpuLoad.ofMachine(), controller), "burst-invoker")
    RunningInvoker(invoker, driver, threads)

/** Stops in order: the packs first, then whatever the driver still knows of. */
final class RunningInvoker private[invoker] (
    val ref: ActorRef[Invoker.Command],
    driver: Driver,
    threads: ExecutorService
):
  def stop(bound: FiniteDuration)(using system: ActorSystem[?]): Future[Unit] =
    given ExecutionContext = system.executionContext
    given Timeout = Timeout(bound)
    ref
      .ask[org.apache.pekko.Done](Invoker.Stop(_))
      .map(_ => ())
      .recover(problem => Wiring.log.error("packs did not end in time: {}", problem.getMessage))
      .flatMap(_ => driver.close())
      .andThen(_ => threads.shutdownNow())

/** The one place where configuration picks the invoker's parts. */
object Wiring:
  private[invoker] val log = LoggerFactory.getLogger("burst.invoker.Wiring")
  private val OrphansBound = 60.seconds

  /** Makes sure of everything packs need; blocks. Throws `SetupException` with what to do about it. */
  def prepare(config: InvokerConfig): PreparedInvoker =
    Files.createDirectories(config.directory)
    val threads = Executors.newCachedThreadPool(namedThreads("burst-invoker"))
    val (driver, runtime) = config.driver match
      case "process" =>
        val runtime = RuntimeBinary(config.runtimeBinary).describe()
        (ProcessDriver(config.process, ExecutionContext.fromExecutor(threads)), runtime)
      case "docker" =>
        val daemon = DockerDaemon.connect(config.docker)
        val calls = Executors.newFixedThreadPool(config.dockerParallelism, namedThreads("burst-docker"))
        val owner = DirectoryId.in(config.directory)
        val blanks = config.directory.resolve("prewarmed")
        val containers = config.slots + config.pool.packs + config.prewarmed
        val driver =
          DockerDriver(config.docker, owner, daemon, blanks, containers, ExecutionContext.fromExecutor(calls))
        (driver, daemon.runtime)
      case "kubernetes" =>
        val settings = config.kubernetes
        val runtime = settings.runtime.getOrElse(RuntimeBinary(config.runtimeBinary).describe())
        val cluster = KubernetesCluster.connect(settings)
        // A container that is started again in the same pod may have lost its disk.
        val owner = cluster.invoker.fold(DirectoryId.in(config.directory))(_.getUid)
        val calls = Executors.newFixedThreadPool(settings.parallelism, namedThreads("burst-kubernetes"))
        val driver = KubernetesDriver(settings, owner, cluster, ExecutionContext.fromExecutor(calls))
        (driver, runtime)
      case other =>
        throw SetupException(
          s"burst.invoker.driver is '$other': give \"process\", \"docker\" or \"kubernetes\"."
        )
    log.info("packs are of the driver {}: {}", driver.name, driver.limits)
    val orphans = scala.concurrent.Await.result(driver.removeOrphans(), OrphansBound)
    if orphans > 0 then log.warn("removed {} containers that an earlier run left", orphans)
    driver.open()
    PreparedInvoker(config, driver, runtime, threads)

  private def namedThreads(name: String): java.util.concurrent.ThreadFactory =
    val serial = AtomicInteger()
    task =>
      val thread = Thread(task, s"$name-${serial.incrementAndGet()}")
      thread.setDaemon(true)
      thread
