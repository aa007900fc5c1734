package burst.controller.scheduler

import burst.controller.{PlatformLimits, Scheduling}
import burst.controller.invokers.{InvokerRegistry, RegistrySettings}
import burst.controller.store.{Storage, StoreSettings}
import com.typesafe.config.Config
import org.apache.pekko.Done
import org.apache.pekko.actor.typed.scaladsl.AskPattern.*
import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import org.apache.pekko.util.Timeout
import scala.concurrent.{ExecutionContext, Future}

/** The scheduler's side of a controller, put together: the scheduler, the registry invokers come to, and the
  * service HTTP asks.
  */
object ActorScheduling:

  /** Starts it upon the stores; flares the last controller left are taken up. Does not block. */
  def start(config: Config)(storage: Storage)(using system: ActorSystem[?]): Scheduling =
    val blocking: ExecutionContext =
      system.dispatchers.lookup(DispatcherSelector.fromConfig(StoreSettings.Dispatcher))
    val settings = SchedulerSettings.from(config)
    val backends = BackendCatalog.from(config)
    val now = FlareEnvironment.systemClock
    val environment = FlareEnvironment(storage.flares, backends, settings, blocking, now)
    val default = PlatformLimits.from(config).namespace.concurrentSlots
    val limits = SlotLimits(storage.namespaces, default, settings.limitsRefresh, blocking, now)
    val scheduler = system.systemActorOf(GangScheduler(environment, limits), "gang-scheduler")
    val registry = system.systemActorOf(
      InvokerRegistry(scheduler, storage.packages, RegistrySettings.from(config), blocking),
      "invoker-registry"
    )
    Scheduling(
      ActorFlareService(scheduler, storage.flares, limits, settings, blocking),
      registry,
      backends.names,
      backends.default,
      () => stop(scheduler, settings)
    )

  private def stop(
      scheduler: org.apache.pekko.actor.typed.ActorRef[GangScheduler.Command],
      settings: SchedulerSettings
  )(using system: ActorSystem[?]): Future[Unit] =
    given Timeout = Timeout(settings.askTimeout)
    scheduler.ask[Done](GangScheduler.Stop(_)).map(_ => ())(using system.executionContext)
