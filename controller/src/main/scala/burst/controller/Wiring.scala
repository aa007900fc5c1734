package burst.controller

import burst.controller.limits.PlatformLimits
import burst.controller.action.Records
import burst.controller.builtin.{BuiltInSettings, SystemPackages}
import burst.controller.deploy.Definitions
import burst.controller.http.*
import burst.controller.cluster.Scheduling
import burst.node.metrics.MetricsRegistry
import burst.node.traces.SpanSink
import burst.controller.store.{Blocking, Janitor, Storage, StoreRetry, StoreSettings, Transfers}
import com.typesafe.config.Config
import java.util.concurrent.atomic.AtomicBoolean
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector, Scheduler}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.jdk.DurationConverters.*
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** The one place where configuration picks the controller's implementations. */
object Wiring:
  /** Opens the configured stores. Blocks. */
  def storage(config: Config, metrics: MetricsRegistry): Storage =
    Storage.open(StoreSettings.from(config), PlatformLimits.from(config).namespace, metrics)

  /** Opens the stores, starts the scheduler on top of them, and listens. `config` is complete, with the
    * libraries' reference configuration; `metrics` and `spans` are shared with the scheduler. If anything
    * fails, all that was started is undone.
    */
  def start(
      config: Config,
      scheduling: Storage => Scheduling,
      metrics: MetricsRegistry = MetricsRegistry(),
      openStorage: (Config, MetricsRegistry) => Storage = storage,
      spans: SpanSink = SpanSink.Off
  )(using system: ActorSystem[?]): Future[Controller] =
    given ExecutionContext = system.executionContext
    val threads = system.dispatchers.lookup(DispatcherSelector.fromConfig(StoreSettings.Dispatcher))
    val blocking = Blocking(threads)
    for
      settings <- Future(Settings.from(config))
      storage <- blocking(openStorage(config, metrics))
      controller <-
        orUndo(begin(settings, scheduling, storage, metrics, spans, blocking))(blocking(storage.close()))
    yield controller

  private def orUndo[A](step: Future[A])(undo: => Future[Unit])(using ExecutionContext): Future[A] =
    step.recoverWith { case NonFatal(cause) => undo.transformWith(_ => Future.failed(cause)) }

  /** How long requests under way may take at shutdown. */
  private val Draining = 3.seconds

  /** The settings, all read before anything is started. */
  private final case class Settings(
      http: HttpSettings,
      limits: PlatformLimits,
      defaults: FlareDefaults,
      store: StoreSettings,
      recordLease: FiniteDuration,
      storeDeadline: FiniteDuration,
      builtIn: BuiltInSettings
  )

  private object Settings:
    def from(config: Config): Settings =
      val http = HttpSettings.from(config)
      Settings(
        http,
        PlatformLimits.from(config),
        FlareDefaults.from(config),
        StoreSettings.from(config),
        config.getDuration("burst.store.record-lease").toScala,
        config.getDuration("burst.scheduler.store-deadline").toScala,
        BuiltInSettings.from(config)
      )

  private def janitor(settings: Settings, storage: Storage): Janitor =
    def storedBytes(namespace: String) =
      storage.namespaces.limits(namespace).getOrElse(settings.limits.namespace).storedBytes
    Janitor(storage.flares, storage.packages, storage.blobs, settings.store.retention, storedBytes)

  private def begin(
      settings: Settings,
      scheduling: Storage => Scheduling,
      storage: Storage,
      metrics: MetricsRegistry,
      spans: SpanSink,
      blocking: Blocking
  )(using system: ActorSystem[?], ec: ExecutionContext): Future[Controller] =
    val definitions = Definitions(storage.definitions, storage.packages)
    val transfers = Transfers.of(system)
    val stopping = AtomicBoolean()
    given Scheduler = system.scheduler
    val retry = StoreRetry(settings.storeDeadline)
    val records = Records(storage.activations, blocking, settings.recordLease, retry)
    val ownPackages = SystemPackages(
      storage.actionPackages,
      storage.definitions,
      definitions,
      settings.limits.namespace
    )
    for
      _ <- blocking(ownPackages.establish())
      scheduler <- blocking(scheduling(storage))
      defaults = settings.defaults.withBackends(scheduler.defaultBackend, scheduler.backends)
      served = HttpServer.route(
        settings.http,
        defaults,
        settings.limits,
        storage,
        settings.store.directory,
        definitions,
        scheduler.service,
        blocking,
        transfers,
        records,
        retry,
        settings.builtIn,
        metrics,
        spans,
        isStopping = () => stopping.get
      )
      binding <- orUndo(HttpServer.bind(settings.http, served.route))(scheduler.shutdown())
      port = binding.localAddress.getPort
      _ = settings.builtIn.publicUrl.listensOn(port)
      _ = scheduler.listensOn(port)
      redirecting <- orUndo(TlsRedirect.bind(settings.http, port)):
        binding.terminate(Draining).transformWith(_ => scheduler.shutdown())
      unbound = () => Future.traverse(redirecting.toSeq :+ binding)(_.terminate(Draining))
      // Last, when everything else runs: credentials that nobody gets to see would lock the owner out.
      guest <- orUndo(blocking(storage.namespaces.establish(Controller.Guest))):
        unbound().transformWith(_ => scheduler.shutdown())
      stopRecords = records.start()
      stopAlarms = served.alarms.start()
      stopJanitor = janitor(settings, storage).start(Blocking(transfers.ofAll))
    yield
      def stop(): Future[Unit] =
        for
          _ <- unbound()
          _ <- stopAlarms()
          _ <- stopRecords()
          _ <- stopJanitor()
          _ <- scheduler.shutdown()
          _ <- blocking(storage.close())
        yield ()
      Controller(
        binding.localAddress,
        settings.http.scheme,
        scheduler.invokers,
        storage,
        guest,
        drain = bound =>
          stopping.set(true)
          records.idle(bound)
        ,
        () => stop()
      )
