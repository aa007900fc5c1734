package burst.controller.http

import burst.controller.action.*
import burst.controller.builtin.{Alarms, BuiltInSettings, Utils}
import burst.controller.firing.{AlarmClock, Firing}
import burst.controller.json.JsonPieces
import burst.controller.limits.{MinuteCounts, PlatformLimits}
import burst.controller.deploy.{Definitions, PackageInspector, TarToZip}
import burst.node.metrics.MetricsRegistry
import burst.node.traces.SpanSink
import burst.controller.http.connection.{Listener, Listening}
import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, Storage, StoreRetry, Transfers}
import java.nio.file.Path
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector, Scheduler}
import org.apache.pekko.http.scaladsl.server.Directives.concat
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** The API, and the clock that fires triggers at set times as the API does on request. */
final case class Served(route: Route, alarms: AlarmClock)

/** Assembles the API from its parts, and binds it. */
object HttpServer:
  def route(
      settings: HttpSettings,
      defaults: FlareDefaults,
      limits: PlatformLimits,
      storage: Storage,
      directory: Path,
      definitions: Definitions,
      service: FlareService,
      blocking: Blocking,
      transfers: Transfers,
      records: Records,
      retry: StoreRetry,
      builtIn: BuiltInSettings,
      registry: MetricsRegistry,
      spans: SpanSink,
      isStopping: () => Boolean
  )(using system: ActorSystem[?]): Served =
    given ExecutionContext = system.executionContext
    given Scheduler = system.scheduler
    val options = OptionsReader(defaults, limits)
    val described = RouteTemplates.described
    val metrics = Metrics(registry, described)
    val actionLimits = ActionLimits(limits)
    val body = RequestBody(settings.bodyTimes, settings.json)
    val results = ResultAnswer(storage.flares, storage.blobs, blocking, transfers)
    val pieces = JsonPieces(settings.json.depth)
    def intake(bodies: BodyIntake.Settings, dispatcher: String) =
      val threads = system.dispatchers.lookup(DispatcherSelector.fromConfig(dispatcher))
      BodyIntake(body, bodies, FairExecutor(threads), blocking)
    val elsewhere = OtherCollections(storage.names, blocking)
    val actions = StoredActions(storage.definitions, storage.actionPackages)
    val flareIntake = intake(settings.flareBodies, HttpSettings.LargeBodyDispatcher)
    val submissions = Submissions(storage.flares)
    val flareCall = FlareCall(
      service,
      submissions,
      flareIntake,
      pieces,
      RateLimiter(),
      results,
      settings
    )
    val deployIntake = intake(settings.deployBodies, HttpSettings.DeployDispatcher)
    val views = Views(defaults)
    val versions = Versions(storage.definitions)
    val deploys = Deploys(deployIntake)
    val programDeploys = ProgramDeploys(
      deploys,
      service,
      TarToZip(limits.packages),
      PackageInspector(limits.packages),
      transfers
    )
    val triggerBody = TriggerBody(pieces)
    val flareBody = FlareBody(options, defaults, pieces, settings.flareBodies.bodyLimit)
    val activations = Activations(storage.activations, storage.flares, storage.blobs, pieces)
    val invocations = FlareInvocations(
      service,
      actions,
      BuiltIns(
        inPackage("utils", Utils.all(builtIn.publicUrl())) ++
          inPackage("alarms", Alarms(storage.alarms, blocking).all)
      ),
      activations,
      records,
      MinuteCounts(),
      defaults.terms,
      pieces,
      blocking,
      transfers,
      settings.componentPatience,
      retry
    )
    val burstCall = BurstCall(
      actions,
      flareBody,
      flareCall,
      service,
      storage.flares,
      pieces,
      blocking,
      settings.blockingLimit
    )
    val fires = MinuteCounts()
    val firing = Firing(actions, invocations, blocking, explained)
    val alarms = AlarmClock(
      storage.alarms,
      storage.triggers,
      storage.rules,
      storage.namespaces,
      firing,
      fires,
      blocking,
      builtIn.alarmInterval,
      storeRetry = retry,
      canRun = () => service.invokers().map(_.exists(_.offers)),
      spans = spans
    )
    val packs = PackAnswer(storage.flares, storage.blobs, blocking, transfers)
    val authentication = Authentication(
      storage.namespaces,
      settings.adminKey,
      FailedLogins(settings.failedLoginsPerMinute, RateLimiter()),
      blocking
    )
    val requestLimits = RequestLimits(RateLimiter())
    val routes = Routes(
      MetaRoutes(
        PlatformInfo(actionLimits),
        Readiness.of(settings.ready, storage, directory, service, blocking, isStopping),
        Scrape(metrics, storage.flares, service, settings.ready.timeout, blocking)
      ),
      InvokersRoutes(service),
      EntitiesRoutes(
        ActionsRoutes(
          actions,
          Sequences(actions),
          storage.definitions,
          storage.actionPackages,
          definitions,
          ActionBody(pieces, limits),
          programDeploys,
          EntityViews(defaults),
          CodeAnswer(storage.packages, transfers),
          elsewhere,
          blocking
        ),
        PackagesRoutes(
          storage.actionPackages,
          storage.definitions,
          definitions,
          pieces,
          deploys,
          elsewhere,
          blocking,
          transfers
        ),
        actionLimits
      ),
      BurstsRoutes(
        definitions,
        storage.secrets,
        storage.definitions,
        versions,
        flareCall,
        DeployBody(options, pieces),
        flareBody,
        programDeploys,
        views,
        blocking
      ),
      VersionsRoutes(definitions, storage.definitions, versions, body, deploys, views, blocking, transfers),
      FlaresRoutes(storage.flares, service, results, blocking, transfers),
      GroupsRoutes(versions, storage.flares, service, flareCall, flareBody, pieces, blocking),
      EventsRoutes(
        TriggersRoutes(storage.triggers, triggerBody, deploys, elsewhere, blocking),
        FireRoutes(
          storage.triggers,
          actions,
          firing,
          fires,
          body,
          flareIntake,
          StoreRetry(FireRoutes.patience(settings.server.timeouts.requestTimeout)),
          elsewhere
        ),
        RulesRoutes(storage.rules, actions, triggerBody, body, deploys, elsewhere, blocking)
      ),
      InvokeRoutes(
        actions,
        invocations,
        burstCall,
        submissions,
        flareIntake,
        pieces,
        settings.blockingLimit,
        elsewhere
      ),
      ActivationsRoutes(activations, packs, storage.flares, blocking, transfers, settings.logLimit),
      concat(
        NamespacesRoutes(storage.namespaces, service, body, blocking).route,
        AdminFlaresRoutes(storage.flares, service, blocking).route,
        AdminInvokersRoutes(storage.drained, service, blocking).route
      ),
      WebRoutes.of(
        actions,
        invocations,
        storage,
        authentication,
        requestLimits,
        deploys,
        settings,
        blocking
      ),
      authentication,
      requestLimits,
      metrics,
      RequestTraces(RouteTemplates(described.keys), spans),
      settings
    )
    Served(routes.route, alarms)

  private def inPackage(name: String, actions: Map[String, BuiltIn]): Map[String, BuiltIn] =
    actions.map((action, builtIn) => s"$name/$action" -> builtIn)

  private def explained(refusal: InvocationRefusal): (Boolean, String) =
    val (status, sentence) = ApiError.told(InvokeRoutes.refusal(refusal))
    (status.intValue >= 500, sentence)

  def bind(settings: HttpSettings, route: Route)(using ActorSystem[?]): Future[Listening] =
    Listener(settings.connections, settings.server, settings.tls)
      .bind(settings.host, settings.port)(Route.toFunction(route))
