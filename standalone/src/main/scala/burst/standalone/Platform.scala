package burst.standalone

import burst.controller.http.AdminKey
import burst.controller.scheduler.{ActorScheduling, FlareService}
import burst.controller.store.Storage
import burst.controller.{Controller, Scheduling, Wiring as ControllerWiring}
import burst.invoker.{InvokerConfig, PreparedInvoker, RunningInvoker, Wiring as InvokerWiring}
import com.typesafe.config.{Config, ConfigValueFactory}
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import org.apache.pekko.pattern.after
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}

/** A whole platform in this JVM: a controller, and an invoker that talks to it in the messages of `protocol`
  * as it would from another machine. Nothing else lives here.
  */
final class Platform private (
    val url: String,
    controller: Controller,
    invoker: RunningInvoker,
    system: ActorSystem[Nothing]
):
  /** First no new work, then no packs. Flares that are cut off are found by the next start. What is left then
    * is the actor system, which goes with the JVM, or by `terminate` where that lives on.
    */
  def stop(bound: FiniteDuration): Future[Unit] =
    given ActorSystem[Nothing] = system
    given ExecutionContext = system.executionContext
    controller
      .shutdown()
      .recover(problem => system.log.error("the controller did not stop in order", problem))
      .flatMap(_ => invoker.stop(bound))

  def terminate(): Future[Unit] = Platform.terminate(system)

object Platform:
  private val Guest = "guest"
  private val RegistrationPoll = 2.millis

  /** Starts all parts, and completes when the API listens, the invoker has registered and the credentials are
    * written. What was started is stopped again when something fails.
    */
  def start(settings: Settings, data: DataDirectory): Future[Platform] =
    val admin = adminKey(settings.config, data)
    val config = settings.config.withValue(AdminKey.Setting, ConfigValueFactory.fromAnyRef(admin))
    val invokerConfig = InvokerConfig.read(config)
    given system: ActorSystem[Nothing] = ActorSystem[Nothing](Behaviors.empty[Nothing], "burst", config)
    given ExecutionContext = system.executionContext
    val blocking = system.dispatchers.lookup(DispatcherSelector.blocking())
    // Both take their time, and neither needs the other yet.
    val preparing = Future(InvokerWiring.prepare(invokerConfig))(using blocking)
    val service = Promise[FlareService]()
    val scheduling: Storage => Scheduling = storage =>
      val parts = ActorScheduling.start(config)(storage)
      service.success(parts.service)
      parts
    val controlling = ControllerWiring.start(config, scheduling)
    val started =
      for
        controller <- controlling
        platform <- join(data, admin, controller, preparing, service.future, blocking).recoverWith: problem =>
          controller.shutdown().transformWith(_ => Future.failed(problem))
      yield platform
    started.recoverWith: problem =>
      // Whatever the invoker's side was doing is over before the failure is told.
      preparing.transformWith(_ => terminate(system)).transformWith(_ => Future.failed(problem))

  private def join(
      data: DataDirectory,
      admin: String,
      controller: Controller,
      preparing: Future[PreparedInvoker],
      service: Future[FlareService],
      blocking: ExecutionContext
  )(using system: ActorSystem[Nothing], ec: ExecutionContext): Future[Platform] =
    for
      prepared <- preparing
      credentials <- Future(credentialsOf(controller, data))(using blocking)
      flares <- service
      invoker = prepared.start(controller.invokers)
      _ <- registered(flares)
      url = DataDirectory.url(controller.scheme, controller.address)
      _ <- Future(data.writeProperties(url, credentials, admin))(using blocking)
    yield Platform(url, controller, invoker, system)

  private def registered(flares: FlareService)(using
      system: ActorSystem[Nothing],
      ec: ExecutionContext
  ): Future[Unit] =
    flares
      .invokers()
      .flatMap: invokers =>
        if invokers.exists(_.up) then Future.unit
        else after(RegistrationPoll)(registered(flares))(using system)

  /** As configured, else the one that an earlier start made, else a fresh one. */
  private def adminKey(config: Config, data: DataDirectory): String =
    Some(config.getString(AdminKey.Setting))
      .filter(_.nonEmpty)
      .orElse(data.adminKey())
      .getOrElse(AdminKey.random())

  /** Those that an earlier start wrote as long as they are good, else new ones: the owner of the data
    * directory is the owner of the platform.
    */
  private def credentialsOf(controller: Controller, data: DataDirectory): String =
    val namespaces = controller.storage.namespaces
    val known = data
      .credentials()
      .filter:
        case s"$uuid:$key" => namespaces.authenticate(uuid, key).exists(_.namespace == Guest)
        case _ => false
    controller.guestCredentials
      .orElse(known)
      .orElse(namespaces.renewKey(Guest))
      .getOrElse(throw IllegalStateException(s"namespace '$Guest' is gone from the database"))

  private def terminate(system: ActorSystem[?]): Future[Unit] =
    system.terminate()
    system.whenTerminated.map(_ => ())(using ExecutionContext.parasitic)
