package burst.controller.invokers

import burst.controller.blob.PackageSource
import burst.controller.scheduler.{GangScheduler, InvokerLoss}
import burst.protocol.*
import com.typesafe.config.Config
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** `burst.invokers`; `scheduler.conf` explains each key. */
final case class RegistrySettings(packageChunk: Int, forgetAfter: FiniteDuration)

object RegistrySettings:
  def from(root: Config): RegistrySettings =
    val config = root.getConfig("burst.invokers")
    RegistrySettings(
      config.getBytes("package-chunk").toInt.min(PackageServer.LargestChunk),
      config.getDuration("forget-after").toNanos.nanos
    )

/** The controller's registry of invokers: it keeps track of those that are up, and serves packages.
  *
  * ==An invoker's states==
  * {{{
  *            register                  its actor stopped, or it was unregistered
  *  unknown ───────────▶ up ─────────────────────────────────────────────────────▶ unknown
  *                      │  ▲
  *                      └──┘ heartbeat; register again, same reference;
  *                           register by another reference: lost, then up
  * }}}
  * A new reference means a new process: everything that ran under the old one is lost. The scheduler is
  * notified of that before the new one, so that nothing new is taken as lost. Heartbeats of an invoker that
  * is not registered are ignored: there is no way to reach it.
  *
  * Silence is not a loss here: an invoker in another process has a session, which decides when it counts as
  * dead; one in this process is silent only while the whole process is suspended, and is back when that
  * resumes.
  */
object InvokerRegistry:
  sealed trait Internal

  /** The invoker is lost, although it has not reported that itself. */
  final case class Lost(id: InvokerId, invoker: ActorRef[InvokerRequest], loss: InvokerLoss) extends Internal
  private[invokers] final case class LongGone(id: InvokerId) extends Internal

  type Command = RegistryCommand[InvokerRequest] | Internal

  def apply(
      scheduler: ActorRef[GangScheduler.Command],
      packages: PackageSource,
      settings: RegistrySettings,
      blocking: ExecutionContext
  ): Behavior[Command] = Behaviors.setup { context =>
    context.setLoggerName(classOf[InvokerRegistry])
    Behaviors.withTimers { timers =>
      val server = PackageServer(packages, settings.packageChunk, blocking, context.log)
      new InvokerRegistry(scheduler, server, settings, context, timers).behavior
    }
  }

private final class InvokerRegistry(
    scheduler: ActorRef[GangScheduler.Command],
    packages: PackageServer,
    settings: RegistrySettings,
    context: ActorContext[InvokerRegistry.Command],
    timers: TimerScheduler[InvokerRegistry.Command]
):
  import InvokerRegistry.*

  private var up = Map.empty[InvokerId, ActorRef[InvokerRequest]]

  def behavior: Behavior[Command] = Behaviors.receiveMessage { message =>
    message match
      case RegisterInvoker(status, invoker) => onRegister(status, invoker)
      case Heartbeat(status) => onHeartbeat(status)
      case UnregisterInvoker(id, invoker, reason) =>
        onLost(id, invoker, InvokerLoss.Unregistered(reason))
      case Lost(id, invoker, loss) => onLost(id, invoker, loss)
      case InvokerHolds(id, invoker, holds) =>
        if up.get(id).contains(invoker) then scheduler ! GangScheduler.InvokerHeld(id, invoker, holds)
      case request: PackageRequest => packages.serve(request)
      case LongGone(id) => scheduler ! GangScheduler.InvokerForgotten(id)
    Behaviors.same
  }

  private def onRegister(status: InvokerStatus, invoker: ActorRef[InvokerRequest]): Unit =
    val id = status.id
    up.get(id) match
      case Some(`invoker`) => onHeartbeat(status)
      case known =>
        known.foreach(onLost(id, _, InvokerLoss.Restarted))
        context.watchWith(invoker, Lost(id, invoker, InvokerLoss.ProcessEnded))
        up = up.updated(id, invoker)
        timers.cancel(LongGone(id))
        scheduler ! GangScheduler.InvokerUp(status, invoker)

  private def onHeartbeat(status: InvokerStatus): Unit = up.get(status.id) match
    case Some(invoker) => scheduler ! GangScheduler.InvokerReported(status, invoker)
    case None => context.log.debug("a heartbeat of an invoker that has not registered")

  private def onLost(id: InvokerId, invoker: ActorRef[InvokerRequest], loss: InvokerLoss): Unit =
    if up.get(id).contains(invoker) then
      context.log.warn(s"invoker ${id.value} is lost: ${loss.reason}")
      context.unwatch(invoker)
      up = up.removed(id)
      timers.startSingleTimer(LongGone(id), LongGone(id), settings.forgetAfter)
      scheduler ! GangScheduler.InvokerLost(id, loss)
