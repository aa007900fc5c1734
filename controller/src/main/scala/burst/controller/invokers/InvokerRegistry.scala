package burst.controller.invokers

import burst.controller.blob.PackageSource
import burst.controller.scheduler.GangScheduler
import burst.protocol.*
import com.typesafe.config.Config
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** `burst.invokers`; what each key means stands in `scheduler.conf`. */
final case class RegistrySettings(
    heartbeatTimeout: FiniteDuration,
    packageChunk: Int,
    forgetAfter: FiniteDuration
)

object RegistrySettings:
  def from(root: Config): RegistrySettings =
    val config = root.getConfig("burst.invokers")
    RegistrySettings(
      config.getDuration("heartbeat-timeout").toNanos.nanos,
      config.getBytes("package-chunk").toInt.min(PackageServer.LargestChunk),
      config.getDuration("forget-after").toNanos.nanos
    )

/** The controller's registry of invokers: who is there, and packages for who asks.
  *
  * ==An invoker's states==
  * {{{
  *            register          no heartbeat in time, its actor stopped, or it was unregistered
  *  unknown ───────────▶ up (by a reference) ───────────────────────────────────────▶ lost
  *                        │         ▲                                                  │
  *                        └─────────┘ heartbeat; register again, same reference        │
  *                        register by another reference: lost, then up                 │
  *                                  ▲                                                  │
  *                                  └──────────────────────────────────────────────────┘
  *                                    register; heartbeat (it had only been cut off)
  * }}}
  * A new reference means a new process: whatever ran under the old one is gone. That is told before the new
  * one is offered, so that nothing new is taken for lost. Heartbeats of an invoker that never registered are
  * passed over: there is no way to reach it.
  */
object InvokerRegistry:
  private[invokers] sealed trait Internal
  private[invokers] final case class Stopped(id: InvokerId, invoker: ActorRef[InvokerRequest])
      extends Internal
  private[invokers] final case class Silent(id: InvokerId) extends Internal
  private[invokers] final case class LongGone(id: InvokerId) extends Internal
  private[invokers] type Input = RegistryCommand[InvokerRequest] | Internal

  def apply(
      scheduler: ActorRef[GangScheduler.Command],
      packages: PackageSource,
      settings: RegistrySettings,
      blocking: ExecutionContext
  ): Behavior[RegistryCommand[InvokerRequest]] =
    Behaviors
      .setup[Input] { context =>
        context.setLoggerName(classOf[InvokerRegistry])
        Behaviors.withTimers { timers =>
          val server = PackageServer(packages, settings.packageChunk, blocking, context.log)
          new InvokerRegistry(scheduler, server, settings, context, timers).behavior
        }
      }
      .narrow

private final class InvokerRegistry(
    scheduler: ActorRef[GangScheduler.Command],
    packages: PackageServer,
    settings: RegistrySettings,
    context: ActorContext[InvokerRegistry.Input],
    timers: TimerScheduler[InvokerRegistry.Input]
):
  import InvokerRegistry.*

  private final case class Entry(invoker: ActorRef[InvokerRequest], up: Boolean)
  private var entries = Map.empty[InvokerId, Entry]

  def behavior: Behavior[Input] = Behaviors.receiveMessage { message =>
    message match
      case RegisterInvoker(status, invoker) => onRegister(status, invoker)
      case Heartbeat(status) => onHeartbeat(status)
      case UnregisterInvoker(id, invoker, reason) =>
        if entries.get(id).exists(_.invoker == invoker) then
          context.unwatch(invoker)
          lose(id, reason)
          entries = entries.removed(id)
      case InvokerHolds(id, invoker, holds) =>
        if entries.get(id).exists(_.invoker == invoker) then
          scheduler ! GangScheduler.InvokerHeld(id, invoker, holds)
      case request: PackageRequest => packages.serve(request)
      case Stopped(id, invoker) =>
        if entries.get(id).exists(_.invoker == invoker) then
          lose(id, "its process ended")
          entries = entries.removed(id)
      case LongGone(id) => scheduler ! GangScheduler.InvokerForgotten(id)
      case Silent(id) => lose(id, s"it was not heard of for ${settings.heartbeatTimeout.toCoarsest}")
    Behaviors.same
  }

  private def onRegister(status: InvokerStatus, invoker: ActorRef[InvokerRequest]): Unit =
    val id = status.id
    entries.get(id) match
      case Some(entry) if entry.invoker == invoker => onHeartbeat(status)
      case known =>
        known.foreach(entry => context.unwatch(entry.invoker))
        if known.exists(_.up) then lose(id, "it restarted")
        context.watchWith(invoker, Stopped(id, invoker))
        bring(status, invoker)

  private def onHeartbeat(status: InvokerStatus): Unit = entries.get(status.id) match
    case Some(Entry(invoker, true)) =>
      expect(status.id)
      scheduler ! GangScheduler.InvokerReported(status, invoker)
    case Some(Entry(invoker, false)) =>
      context.log.warn(s"invoker ${status.id.value} is back: it had only been cut off")
      bring(status, invoker)
    case None => context.log.debug("a heartbeat of an invoker that has not registered")

  private def bring(status: InvokerStatus, invoker: ActorRef[InvokerRequest]): Unit =
    entries = entries.updated(status.id, Entry(invoker, up = true))
    timers.cancel(LongGone(status.id))
    expect(status.id)
    scheduler ! GangScheduler.InvokerUp(status, invoker)

  private def expect(id: InvokerId): Unit =
    timers.startSingleTimer(id, Silent(id), settings.heartbeatTimeout)

  private def lose(id: InvokerId, reason: String): Unit =
    entries.get(id).filter(_.up).foreach { entry =>
      context.log.warn(s"invoker ${id.value} is lost: $reason")
      entries = entries.updated(id, entry.copy(up = false))
      timers.cancel(id)
      timers.startSingleTimer(LongGone(id), LongGone(id), settings.forgetAfter)
      scheduler ! GangScheduler.InvokerLost(id, reason)
    }
