package burst.simulator

import burst.controller.cluster.{ActorScheduling, Scheduling}
import burst.controller.definition.{Definition, FlareOptions}
import burst.controller.flare.{Flare, FlareRequest}
import burst.controller.limits.PlatformLimits
import burst.controller.scheduler.{FlareService, Refusal}
import burst.controller.store.{Storage, StoreSettings}
import burst.protocol.*
import com.typesafe.config.{Config, ConfigFactory}
import io.circe.JsonObject
import java.nio.file.Path
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorSystem, Behavior}
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

/** A controller without its API: the real scheduler on the real embedded store, with actors as invokers. */
final class SimulatedController private (config: Config, val storage: Storage):
  private val system = ActorSystem(Behaviors.empty[Nothing], "simulated", config)
  private val scheduling: Scheduling = ActorScheduling.start(config)(storage)(using system)

  val service: FlareService = scheduling.service

  /** Registers invokers with this many slots, and waits until the scheduler knows them. */
  def invokers(count: Int, slots: Int)(behavior: InvokerId => Behavior[InvokerRequest]): Unit =
    for i <- 0 until count do
      val id = SimulatedController.invoker(i)
      val invoker = system.systemActorOf(behavior(id), id.value)
      scheduling.invokers ! RegisterInvoker(SimulatedController.status(i, slots), invoker)
    awaitInvokers(_.count(_.up) == count)

  def heartbeat(status: InvokerStatus): Unit = scheduling.invokers ! Heartbeat(status)

  /** Polls until the scheduler, which answers in turn, sees the invokers in the expected state. */
  def awaitInvokers(seen: Vector[burst.controller.scheduler.InvokerView] => Boolean): Unit =
    while !seen(Await.result(service.invokers(), 30.minutes)) do ()

  def submit(request: FlareRequest): Either[Refusal, Flare] =
    Await.result(service.submit(request), 1.minute).map(_.flare)

  def close(): Unit =
    system.terminate()
    Await.result(system.whenTerminated, 10.minutes)
    storage.close()

object SimulatedController:
  /** A new store with the package of all simulated flares. */
  def store(directory: Path, settings: String): (Config, Storage) =
    val config = ConfigFactory
      .parseString(s"""
        burst.store.directory = "$directory"
        pekko.loglevel = WARNING
        $settings
      """)
      .withFallback(ConfigFactory.load())
    val limits = PlatformLimits.from(config).namespace
    val storage = Storage.open(StoreSettings.from(config), limits)
    val ref = Workload.definition("package")
    val copy = storage.packages.store(ref.packageId, Workload.packageBytes)
    val definition = Definition(
      ref.namespace,
      ref.name,
      "",
      "rust",
      ref.packageId,
      Workload.packageBytes.length,
      FlareOptions(),
      JsonObject.empty,
      updated = Timestamp.Epoch
    )
    storage.definitions.put(definition, copy, overwrite = true, limits).fold(
      refused => throw IllegalStateException(s"refused: $refused"),
      _ => ()
    )
    (config, storage)

  /** A controller that has taken over what is stored there. */
  def start(config: Config, storage: Storage): SimulatedController =
    val controller = new SimulatedController(config, storage)
    try controller.awaitInvokers(_.isEmpty)
    catch
      case problem: Exception =>
        controller.close()
        throw problem
    controller

  def invoker(number: Int): InvokerId = InvokerId(f"i$number%05d")

  def status(number: Int, slots: Int, load: Double = 0): InvokerStatus =
    InvokerStatus(invoker(number), slots, load, "simulated", 0, RuntimeInfo("x86_64", "2.36"))
