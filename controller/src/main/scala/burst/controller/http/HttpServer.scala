package burst.controller.http

import burst.controller.PlatformLimits
import burst.controller.definition.{Definitions, PackageInspector}
import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, Storage}
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.http.scaladsl.{ConnectionContext, Http}
import org.apache.pekko.http.scaladsl.Http.ServerBinding
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
      blocking: Blocking
  )(using system: ActorSystem[?]): Route =
    given ExecutionContext = system.executionContext
    val options = OptionsReader(defaults, limits)
    val metrics = Metrics()
    val body = RequestBody(settings.bodyTimeout, settings.jsonDepthLimit)
    val flareCall = FlareCall(storage.flares, service, body, RateLimiter(), blocking, settings)
    val flareBody = FlareBody(options, defaults)
    Routes(
      MetaRoutes(metrics, storage.flares, service, blocking),
      InvokersRoutes(service),
      BurstsRoutes(
        definitions,
        storage.definitions,
        service,
        flareCall,
        PackageInspector(limits.packages),
        DeployBody(options),
        flareBody,
        body,
        BodyBudget(settings.deployBodiesLimit),
        Views(defaults),
        blocking,
        settings
      ),
      FlaresRoutes(storage.flares, service, blocking),
      GroupsRoutes(storage.definitions, storage.flares, service, flareCall, flareBody, blocking),
      AdminRoutes(
        NamespacesRoutes(storage.namespaces, service, body, blocking),
        AdminFlaresRoutes(storage.flares, service, blocking)
      ),
      Authentication(storage.namespaces, settings.adminKey, blocking),
      metrics,
      settings
    ).route

  def bind(settings: HttpSettings, route: Route)(using ActorSystem[?]): Future[ServerBinding] =
    val builder = Http().newServerAt(settings.host, settings.port).withSettings(settings.server)
    settings.tls.fold(builder)(tls => builder.enableHttps(ConnectionContext.httpsServer(tls))).bind(route)
