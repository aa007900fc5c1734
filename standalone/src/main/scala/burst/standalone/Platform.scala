package burst.standalone

import burst.controller.cluster.ActorScheduling
import burst.controller.scheduler.FlareService
import burst.controller.store.Storage
import burst.controller.cluster.Scheduling
import burst.controller.{BootstrapCredentials, Controller, Wiring as ControllerWiring}
import burst.invoker.{InvokerConfig, PreparedInvoker, RunningInvoker, Wiring as InvokerWiring}
import burst.node.metrics.MetricsRegistry
import burst.node.traces.{TracedService, Traces}
import burst.node.{DataDirectory, Node, Settings}
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import org.apache.pekko.pattern.after
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}

/** A whole platform in this JVM: a controller, and an invoker that talks to it by the messages of `protocol`,
  * as it would from another machine. Nothing else is in this module.
  */
final class Platform private (
    val url: String,
    controller: Controller,
    invoker: RunningInvoker,
    traces: Traces,
    system: ActorSystem[Nothing]
) extends Node:
  def ready: Future[String] = Future.successful(s"${invoker.packs}\nburst is ready on $url")

  /** Stops the controller first, so that no new work arrives, then the packs. Flares that are cut off are
    * found at the next start. What remains is the actor system, which ends with the JVM, or by `terminate` if
    * the JVM lives on.
    */
  def stop(bound: FiniteDuration): Future[Unit] =
    given ActorSystem[Nothing] = system
    given ExecutionContext = system.executionContext
    val deadline = bound.fromNow
    controller
      .shutdown()
      .recover(problem => system.log.error("the controller did not stop in order", problem))
      .flatMap(_ => invoker.stop(deadline.timeLeft.max(1.second)))
      .andThen(_ => traces.close())

  def terminate(): Future[Unit] = Platform.terminate(system)

object Platform:
  private val RegistrationPoll = 2.millis

  /** Starts all parts, and completes when the API listens, the invoker has registered and the credentials are
    * written. If anything fails, what was started is stopped again.
    */
  def start(settings: Settings, data: DataDirectory): Future[Platform] =
    val bootstrap = BootstrapCredentials.of(settings.config, data)
    val config = bootstrap.config
    val invokerConfig = InvokerConfig.read(config)
    given system: ActorSystem[Nothing] = ActorSystem[Nothing](Behaviors.empty[Nothing], "burst", config)
    given ExecutionContext = system.executionContext
    val blocking = system.dispatchers.lookup(DispatcherSelector.blocking())
    // Both take a while, and neither needs the other yet.
    val preparing = Future(InvokerWiring.prepare(invokerConfig))(using blocking)
    val metrics = MetricsRegistry.ofProcess()
    val traces = Traces.from(config, metrics)
    val spans = traces.of(TracedService.Controller, Traces.newInstance())
    val service = Promise[FlareService]()
    val scheduling: Storage => Scheduling = storage =>
      val parts = ActorScheduling.start(config, metrics, spans)(storage)
      service.success(parts.service)
      parts
    val controlling = ControllerWiring.start(config, scheduling, metrics, spans = spans)
    val started =
      for
        controller <- controlling
        platform <-
          join(bootstrap, controller, preparing, service.future, metrics, traces, blocking).recoverWith:
            problem =>
              controller.shutdown().transformWith(_ => Future.failed(problem))
      yield platform
    started.recoverWith: problem =>
      // The invoker's side must have finished before the failure is reported.
      preparing.transformWith(_ => terminate(system)).transformWith(_ => Future.failed(problem))

  private def join(
      bootstrap: BootstrapCredentials,
      controller: Controller,
      preparing: Future[PreparedInvoker],
      service: Future[FlareService],
      metrics: MetricsRegistry,
      traces: Traces,
      blocking: ExecutionContext
  )(using system: ActorSystem[Nothing], ec: ExecutionContext): Future[Platform] =
    for
      prepared <- preparing
      credentials <- Future(credentialsOf(controller, bootstrap))(using blocking)
      flares <- service
      invoker = prepared.start(controller.invokers, metrics, traces)
      _ <- registered(flares)
      url = DataDirectory.url(controller.scheme, controller.address)
      _ <- Future(bootstrap.write(url, credentials))(using blocking)
    yield Platform(url, controller, invoker, traces, system)

  private def registered(flares: FlareService)(using
      system: ActorSystem[Nothing],
      ec: ExecutionContext
  ): Future[Unit] =
    flares
      .invokers()
      .flatMap: invokers =>
        if invokers.exists(_.up) then Future.unit
        else after(RegistrationPoll)(registered(flares))(using system)

  /** The credentials that an earlier start wrote while they are valid, otherwise new ones: the owner of the
    * data directory owns the platform. Credentials that an administrator has replaced or revoked stay so; the
    * administrator has the key to change that.
    */
  private def credentialsOf(controller: Controller, bootstrap: BootstrapCredentials)(using
      system: ActorSystem[?]
  ): Option[String] =
    val credentials = controller.credentials(bootstrap.guest).orElse(controller.renewCredentials())
    if credentials.isEmpty then
      system.log.warn(
        "an administrator has replaced or revoked the key of '{}': there are no credentials in the properties; " +
          "`burst admin namespace create {} --overwrite` makes new ones",
        Controller.Guest,
        Controller.Guest
      )
    credentials

  private def terminate(system: ActorSystem[?]): Future[Unit] =
    system.terminate()
    system.whenTerminated.map(_ => ())(using ExecutionContext.parasitic)
