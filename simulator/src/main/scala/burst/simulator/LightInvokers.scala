package burst.simulator

import burst.invoker.{ControllerLink, Invoker}
import burst.node.{ClusterSettings, Role, Settings}
import burst.protocol.*
import burst.protocol.link.SessionEndpoint
import com.typesafe.config.ConfigFactory
import java.nio.file.Path
import java.util.concurrent.{Semaphore, TimeUnit}
import org.apache.pekko.Done
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, Behavior}
import scala.concurrent.Await
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** Invokers that have real sessions with a controller, send as many beats as real ones, and run nothing: all
  * in this process, and over one connection.
  */
final class LightInvokers(seed: String, key: Path, data: Path):
  private val config = Settings.load(
    ConfigFactory.parseString(s"""
      burst.data = "$data"
      burst.cluster { seeds = ["$seed"], key = "$key", host = "127.0.0.1", port = 0 }
    """),
    Role.Invoker
  ).config
  private val cluster = ClusterSettings.from(config)
  private val system = ActorSystem(Behaviors.empty[Nothing], ClusterSettings.SystemName, config)
  private val endpoints = cluster.seedAddresses.map(SessionEndpoint.at(_)(using system))
  private val joined = Semaphore(0)
  private val events = system.systemActorOf(
    Behaviors.receiveMessage[ControllerLink.Event] {
      case ControllerLink.Event.Joined =>
        joined.release()
        Behaviors.same
      case ControllerLink.Event.Refused(reason) => throw IllegalStateException(reason)
    },
    "events"
  )

  /** Lets a number of invokers say Hello, and waits until each has its session. */
  def join(count: Int, slots: Int): Unit =
    for i <- 0 until count do
      val status = SimulatedController.status(i, slots)
      val own =
        ControllerLink.Settings(endpoints, home = status.id.value, cluster.proof.hint, journalMemory = 0)
      val link = system.systemActorOf(ControllerLink(own, events), s"link-${status.id.value}")
      system.systemActorOf(LightInvokers.invoker(status, link), status.id.value): Unit
    if !joined.tryAcquire(count, 10, TimeUnit.MINUTES) then
      throw IllegalStateException(s"only ${joined.availablePermits} of $count have a session")

  /** How many sessions had to begin again since then. */
  def rejoined(): Int = joined.drainPermits()

  def stop(): Unit =
    system.terminate()
    Await.result(system.whenTerminated, 1.minute): Unit

private[simulator] object LightInvokers:
  private case object Beat

  /** The same as `burst.invoker.heartbeat-interval`. */
  val Interval: FiniteDuration = 1.second

  private def invoker(
      status: InvokerStatus,
      link: ActorRef[RegistryCommand[Invoker.Command]]
  ): Behavior[Invoker.Command] = Behaviors
    .setup[Invoker.Command | Beat.type]: context =>
      Behaviors.withTimers: timers =>
        link ! RegisterInvoker(status, context.self)
        timers.startTimerAtFixedRate(Beat, Interval)
        Behaviors.receiveMessage:
          case Beat =>
            link ! Heartbeat(status)
            Behaviors.same
          case Invoker.EndPacks(_, replyTo) =>
            replyTo ! Done
            Behaviors.same
          case _ => Behaviors.same
    .narrow
