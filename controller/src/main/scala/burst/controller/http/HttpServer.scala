package burst.controller.http

import burst.controller.action.{Sequences, StoredActions}
import burst.controller.json.JsonPieces
import burst.controller.limits.PlatformLimits
import burst.controller.deploy.{Definitions, PackageInspector}
import burst.controller.http.connection.{Listener, Listening}
import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, Storage, Transfers}
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** Puts the API together from its parts, and binds it. */
object HttpServer:
  def route(
      settings: HttpSettings,
      defaults: FlareDefaults,
      limits: PlatformLimits,
      storage: Storage,
      definitions: Definitions,
      service: FlareService,
      blocking: Blocking,
      transfers: Transfers
  )(using system: ActorSystem[?]): Route =
    given ExecutionContext = system.executionContext
    val options = OptionsReader(defaults, limits)
    val metrics = Metrics()
    val actionLimits = ActionLimits(limits)
    val body = RequestBody(settings.bodyTimes, settings.json)
    val results = ResultAnswer(storage.flares, storage.blobs, blocking, transfers)
    val pieces = JsonPieces(settings.json.depth)
    def intake(bodies: BodyIntake.Settings, dispatcher: String) =
      val threads = system.dispatchers.lookup(DispatcherSelector.fromConfig(dispatcher))
      BodyIntake(body, bodies, FairExecutor(threads), blocking)
    val actions = StoredActions(storage.definitions, storage.actionPackages)
    val flareCall = FlareCall(
      service,
      intake(settings.flareBodies, HttpSettings.LargeBodyDispatcher),
      pieces,
      RateLimiter(),
      results,
      settings
    )
    val deployIntake = intake(settings.deployBodies, HttpSettings.DeployDispatcher)
    val inspector = PackageInspector(limits.packages)
    val views = Views(defaults)
    val versions = Versions(storage.definitions)
    val deploys = RateLimiter()
    val triggerBody = TriggerBody(pieces)
    val flareBody = FlareBody(options, defaults, pieces, settings.flareBodies.bodyLimit)
    Routes(
      MetaRoutes(PlatformInfo(actionLimits), metrics, storage.flares, service, blocking),
      InvokersRoutes(service),
      EntitiesRoutes(
        ActionsRoutes(
          actions,
          Sequences(actions),
          storage.definitions,
          storage.actionPackages,
          definitions,
          service,
          inspector,
          ActionBody(pieces, limits),
          deployIntake,
          deploys,
          EntityViews(defaults),
          CodeAnswer(storage.packages, transfers),
          blocking,
          transfers
        ),
        PackagesRoutes(
          storage.actionPackages,
          storage.definitions,
          definitions,
          pieces,
          deployIntake,
          deploys,
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
        service,
        flareCall,
        inspector,
        DeployBody(options, pieces),
        flareBody,
        deployIntake,
        deploys,
        views,
        blocking,
        transfers
      ),
      VersionsRoutes(definitions, storage.definitions, versions, body, deploys, views, blocking, transfers),
      FlaresRoutes(storage.flares, service, results, blocking, transfers),
      GroupsRoutes(versions, storage.flares, service, flareCall, flareBody, pieces, blocking),
      EventsRoutes(
        TriggersRoutes(storage.triggers, triggerBody, deployIntake, deploys, blocking),
        RulesRoutes(storage.rules, actions, triggerBody, body, deployIntake, deploys, blocking)
      ),
      AdminRoutes(
        NamespacesRoutes(storage.namespaces, service, body, blocking),
        AdminFlaresRoutes(storage.flares, service, blocking)
      ),
      Authentication(
        storage.namespaces,
        settings.adminKey,
        FailedLogins(settings.failedLoginsPerMinute, RateLimiter()),
        blocking
      ),
      RequestLimits(RateLimiter()),
      metrics,
      settings
    ).route

  def bind(settings: HttpSettings, route: Route)(using ActorSystem[?]): Future[Listening] =
    Listener(settings.connections, settings.server, settings.tls)
      .bind(settings.host, settings.port)(Route.toFunction(route))
