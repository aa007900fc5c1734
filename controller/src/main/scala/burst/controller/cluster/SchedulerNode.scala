package burst.controller.cluster

import burst.controller.invokers.{InvokerRegistry, RegistrySettings}
import burst.controller.scheduler.{FlareEnvironment, GangScheduler, SlotLimits}
import burst.controller.store.Storage
import burst.protocol.{InvokerRequest, RegistryCommand}
import burst.protocol.link.Hello
import com.typesafe.config.Config
import org.apache.pekko.Done
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.Future
import scala.concurrent.duration.DurationInt
import scala.util.{Failure, Success}

/** The singletons of a cluster: the gang scheduler, and the registry and the acceptor of invokers' sessions.
  * Starts with a new epoch from the database; until it has one, requests wait. If the database has a later
  * one, another controller has taken over while this one was suspended or cut off, and may have ended again:
  * as neither store nor invokers accept an earlier epoch, this controller ends, and one of the remaining ones
  * starts the scheduler again.
  */
object SchedulerNode:
  sealed trait Internal

  /** Stops it in an orderly way, for another controller to take over or the process to end. */
  final case class Stop(replyTo: ActorRef[Done]) extends Internal
  private final case class Begun(epoch: Long) extends Internal
  private final case class NoEpoch(cause: Throwable) extends Internal
  private case object Retry extends Internal
  private case object Check extends Internal
  private final case class Present(epoch: Long) extends Internal
  private case object Stopped extends Internal

  type Command = GangScheduler.Command | RegistryCommand[InvokerRequest] | Hello | Internal

  /** The components it needs. */
  final case class Parts(
      config: Config,
      storage: Storage,
      environment: FlareEnvironment,
      limits: SlotLimits
  )

  private val StashLimit = 10000
  private val RetryPause = 1.second
  private val CheckInterval = 2.seconds

  def apply(parts: Parts): Behavior[Command] = Behaviors.setup { context =>
    context.setLoggerName("burst.controller.cluster.SchedulerNode")
    Behaviors.withStash(StashLimit) { stash =>
      def claimEpoch(): Unit =
        context.pipeToSelf(Future(parts.storage.epochs.next())(using parts.environment.blocking)) {
          case Success(epoch) => Begun(epoch)
          case Failure(cause) => NoEpoch(cause)
        }
      claimEpoch()
      Behaviors.receiveMessage {
        case Begun(epoch) =>
          context.log.info(s"the scheduler begins here, epoch $epoch")
          stash.unstashAll(serving(parts, epoch, context))
        case NoEpoch(cause) =>
          context.log.error("the scheduler cannot begin; trying again", cause)
          context.scheduleOnce(RetryPause, context.self, Retry)
          Behaviors.same
        case Retry =>
          claimEpoch()
          Behaviors.same
        case Stop(replyTo) =>
          replyTo ! Done
          SchedulerHome.ended()(using context.system)
          Behaviors.stopped
        case other =>
          if !stash.isFull then stash.stash(other)
          Behaviors.same
      }
    }
  }

  private def serving(parts: Parts, epoch: Long, context: ActorContext[Command]): Behavior[Command] =
    val sessions = SessionSettings.from(parts.config)
    val scheduler = context.spawn(GangScheduler(parts.environment, parts.limits), "gang-scheduler")
    val registry = context.spawn(
      InvokerRegistry(
        scheduler,
        parts.storage.packages,
        RegistrySettings.from(parts.config),
        parts.environment.transfers.ofAll
      ),
      "invoker-registry"
    )
    val acceptor = context.spawn(SessionAcceptor(epoch, sessions, registry), "session-acceptor")
    // On a single controller the scheduler restarts by itself; a defect of the others ends all three.
    if parts.environment.adoption.isDefined then context.watch(scheduler)
    context.watch(registry)
    context.watch(acceptor)
    def check(): Unit = context.scheduleOnce(CheckInterval, context.self, Check): Unit
    check()
    Behaviors.receiveMessage {
      case command: GangScheduler.Command =>
        scheduler ! command
        Behaviors.same
      case command: RegistryCommand[InvokerRequest] =>
        registry ! command
        Behaviors.same
      case hello: Hello =>
        acceptor ! hello
        Behaviors.same
      case Stop(replyTo) =>
        context.unwatch(scheduler)
        scheduler ! GangScheduler.Stop(context.messageAdapter[Done](_ => Stopped))
        stopping(Vector(replyTo))
      case Check =>
        context.pipeToSelf(Future(parts.storage.epochs.present())(using parts.environment.blocking)):
          // Those that need the database report its failures.
          _.fold(_ => Present(epoch), Present(_))
        Behaviors.same
      case Present(later) if later > epoch =>
        context.log.error(s"the scheduler of epoch $epoch ends: another controller has begun epoch $later")
        SchedulerHome.giveWay()(using context.system)
        Behaviors.same
      case _: Present =>
        check()
        Behaviors.same
      // internal messages, and any others, as messages from other nodes are not checked for their types
      case _ => Behaviors.same
    }

  private def stopping(replyTo: Vector[ActorRef[Done]]): Behavior[Command] =
    Behaviors.receive { (context, message) =>
      message match
        case Stopped =>
          replyTo.foreach(_ ! Done)
          SchedulerHome.ended()(using context.system)
          Behaviors.stopped
        case Stop(another) => stopping(replyTo :+ another)
        case _ => Behaviors.same
    }
