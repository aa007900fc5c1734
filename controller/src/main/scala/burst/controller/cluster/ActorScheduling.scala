package burst.controller.cluster

import burst.controller.builtin.PublicUrl
import burst.controller.limits.{ByteRateLimiter, PlatformLimits}
import burst.controller.metrics.{FlareMetrics, MetricsSettings}
import burst.controller.scheduler.*
import burst.controller.store.{Storage, StoreSettings, Transfers}
import burst.node.FairSemaphore
import burst.node.metrics.MetricsRegistry
import burst.node.traces.SpanSink
import burst.protocol.{InvokerRequest, RegistryCommand}
import com.typesafe.config.Config
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, DispatcherSelector}
import scala.concurrent.{ExecutionContext, Future}

/** The scheduler's side of a controller.
  *
  * @param backends
  *   names of the configured backends, `defaultBackend` among them
  * @param shutdown
  *   stops it; called before the stores are closed
  * @param listensOn
  *   receives the port of the API
  */
final case class Scheduling(
    service: FlareService,
    invokers: ActorRef[RegistryCommand[InvokerRequest]],
    backends: Vector[String],
    defaultBackend: String,
    shutdown: () => Future[Unit] = () => Future.unit,
    listensOn: Int => Unit = _ => ()
)

/** Assembles the scheduler's side of a controller: the scheduler, here or on another controller, and the
  * service that the HTTP side calls.
  */
object ActorScheduling:

  /** Starts it on the stores; it takes up the flares that the last controller left. Does not block. */
  def start(
      config: Config,
      metrics: MetricsRegistry = MetricsRegistry(),
      spans: SpanSink = SpanSink.Off
  )(storage: Storage)(using
      system: ActorSystem[?]
  ): Scheduling =
    val blocking: ExecutionContext =
      system.dispatchers.lookup(DispatcherSelector.fromConfig(StoreSettings.Dispatcher))
    val settings = SchedulerSettings.from(config)
    val backends = BackendCatalog.from(config)
    val clock = Clock.ofMachine
    val spool = Spool.open(StoreSettings.from(config).spool, storage.blobs)
    val inputs = FairSemaphore(settings.inputMemory)
    val publicUrl = PublicUrl.of(config)
    val environment =
      FlareEnvironment(
        storage.flares,
        storage.drained,
        spool,
        inputs,
        backends,
        settings,
        blocking,
        Transfers.of(system),
        clock,
        ByteRateLimiter(settings.namespaceLogRate, settings.namespaceLogBurst),
        storage.secrets,
        InvocationEnvironment(storage.secrets.activationKeys, publicUrl()),
        FlareMetrics(metrics, MetricsSettings.from(config)),
        adoption = Option.when(SchedulerHome.isClustered)(SessionSettings.from(config).silence),
        spans = spans,
        ownsStore = StoreSettings.from(config).postgres.isEmpty
      )
    val default = PlatformLimits.from(config).namespace.concurrentSlots
    val limits = SlotLimits(storage.namespaces, default, settings.limitsRefresh, blocking, clock.elapsed)
    val home = SchedulerHome.of(SchedulerNode(SchedulerNode.Parts(config, storage, environment, limits)))
    Scheduling(
      ActorFlareService(home.scheduler, storage.flares, limits, settings, blocking, () => home.host),
      home.scheduler,
      backends.names,
      backends.default,
      () => home.leave(settings.askTimeout),
      publicUrl.listensOn
    )
