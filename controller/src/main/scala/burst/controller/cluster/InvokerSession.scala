package burst.controller.cluster

import burst.controller.invokers.InvokerRegistry
import burst.controller.scheduler.InvokerLoss
import burst.protocol.*
import burst.protocol.link.*
import org.apache.pekko.actor.typed.delivery.{ConsumerController, ProducerController}
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior, PostStop}
import scala.concurrent.duration.DurationInt
import scala.util.control.NonFatal

/** The controller's end of a session with an invoker in another process (see `Link`). To the scheduler and
  * the registry it is the invoker: it takes their requests and passes the invoker's reports to those that
  * asked for them.
  */
private[cluster] object InvokerSession:
  sealed trait Internal

  /** Another session replaces this one, or the scheduler ends. */
  final case class End(loss: InvokerLoss) extends Internal

  /** The invoker sends Hello again: the Welcome was lost. */
  case object WelcomeAgain extends Internal

  /** Another invoker sends Hello with the same id: it is refused as soon as this one is known to be alive. */
  final case class Rival(from: ActorRef[ToLink]) extends Internal
  private final case class Demand(next: ProducerController.RequestNext[ToInvoker]) extends Internal
  private final case class Received(delivery: ConsumerController.Delivery[ToController]) extends Internal
  private final case class Fetched(reply: PackageReply) extends Internal
  private case object Silent extends Internal
  private case object Flush extends Internal

  /** The actor that receives or sends the session's messages has died of one. */
  private case object Broken extends Internal

  /** How long messages that nobody waits for are held back, to be sent together with ones that somebody waits
    * for.
    */
  private val Patience = 100.millis

  type Command = ToSession | InvokerRequest | Internal

  def apply(
      hello: Hello,
      version: Int,
      epoch: Long,
      settings: SessionSettings,
      registry: ActorRef[InvokerRegistry.Command]
  ): Behavior[Command] = Behaviors.setup { context =>
    context.setLoggerName("burst.controller.cluster.InvokerSession")
    Behaviors.withTimers(timers =>
      new InvokerSession(hello, version, epoch, settings, registry, context, timers).begin()
    )
  }

private final class InvokerSession(
    hello: Hello,
    version: Int,
    epoch: Long,
    settings: SessionSettings,
    registry: ActorRef[InvokerRegistry.Command],
    context: ActorContext[InvokerSession.Command],
    timers: TimerScheduler[InvokerSession.Command]
):
  import InvokerSession.*

  private val id = hello.id
  private val commands =
    context.spawn(ProducerController[ToInvoker](s"to-invoker-${id.value}", None), "to-invoker")
  private val reports = context.spawn(ConsumerController[ToController](), "to-controller")
  private val packages = context.messageAdapter[PackageReply](Fetched(_))
  private val outbox = Outbox[ToInvoker](version)

  private var joined = false
  private var wanted = Option.empty[Vector[WantedPacks]]
  private var free = false

  /** Whether the session was ended for another reason than the end of the scheduler. */
  private var ended = false
  private var rivals = Set.empty[ActorRef[ToLink]]
  private var packs = Map.empty[PackKey, ActorRef[InvokerReport]]
  private var cleanings = Map.empty[FlareId, Vector[ActorRef[InvokerReport]]]

  def begin(): Behavior[Command] =
    commands ! ProducerController.Start(context.messageAdapter(Demand(_)))
    reports ! ConsumerController.Start(context.messageAdapter(Received(_)))
    context.watchWith(commands, Broken)
    context.watchWith(reports, Broken)
    welcome()
    heard()
    Behaviors
      .receiveMessagePartial[Command] {
        case command if handler.isDefinedAt(command) =>
          try handler(command)
          catch
            case NonFatal(defect) =>
              context.log.error(s"the session of invoker ${id.value} breaks off", defect)
              lose(InvokerLoss.Defect)
      }
      .receiveSignal { case (_, PostStop) =>
        if !ended then hello.from ! Over(context.self, handsOver = true)
        Behaviors.same
      }

  // partial: messages from other nodes are not checked for their types
  private val handler: PartialFunction[Command, Behavior[Command]] =
    case beat: Beat =>
      onBeat(beat)
      Behaviors.same
    case Farewell(reason) => end(UnregisterInvoker(id, context.self, reason))
    case End(loss) => lose(loss)
    case Silent => lose(InvokerLoss.Silent(settings.silence))
    case Broken => lose(InvokerLoss.Unreadable)
    case WelcomeAgain =>
      if !joined then welcome()
      Behaviors.same
    case Rival(from) =>
      rivals += from
      Behaviors.same
    case Demand(next) =>
      outbox.demanded(next)
      Behaviors.same
    case Received(delivery) =>
      onReceived(delivery.message)
      delivery.confirmTo ! ConsumerController.Confirmed
      Behaviors.same
    case Fetched(reply) =>
      outbox.put(reply)
      Behaviors.same
    case InvokerRequest(WantRoom(packs), _) =>
      wanted = Some(packs)
      Behaviors.same
    case InvokerRequest(NothingMore, _) =>
      free = true
      Behaviors.same
    case InvokerRequest(stored: PackStored, _) =>
      outbox.putLater(stored)
      if !timers.isTimerActive(Flush) then timers.startSingleTimer(Flush, Patience)
      Behaviors.same
    case Flush =>
      outbox.flush()
      Behaviors.same
    case InvokerRequest(command, replyTo) =>
      expectAnswer(command, replyTo)
      outbox.put(command)
      Behaviors.same

  private def welcome(): Unit =
    val at = Some(Timestamp.now())
    hello.from ! Welcome(epoch, Some(version), hello.tries, settings.contact, context.self, commands, at)

  private def heard(): Unit = timers.startSingleTimer(Silent, settings.silence)

  private def onBeat(beat: Beat): Unit =
    heard()
    hello.from ! Seen(beat.number, wanted, Some(free))
    if rivals.nonEmpty then
      context.log.warn(s"refused another invoker by the id of ${id.value}, which is up")
      rivals.foreach(_ ! Refused(taken))
      rivals = Set.empty
    if joined then registry ! Heartbeat(beat.status)
    else
      joined = true
      reports ! ConsumerController.RegisterToProducerController(beat.toController)
      registry ! RegisterInvoker(beat.status, context.self)

  private def taken: String =
    val where = hello.from.path.address.host.fold("")(host => s" on $host")
    s"another invoker$where has the id ${id.value} and is up: give this one an id of its own with --id, and no " +
      "copy of the other's data directory, or stop the other."

  private def expectAnswer(command: InvokerCommand, replyTo: ActorRef[InvokerReport]): Unit = command match
    case PreparePack(assignment) => packs = packs.updated(assignment.packKey, replyTo)
    case AdoptPack(flareId, attempt, pack) => packs = packs.updated(PackKey(flareId, attempt, pack), replyTo)
    case CleanFlare(flareId, _) =>
      cleanings = cleanings.updated(flareId, cleanings.getOrElse(flareId, Vector.empty) :+ replyTo)
    case _: (StartPack | AbortPack | OutputStored | PackStored | WantRoom) | NothingMore => ()

  private def onReceived(message: ToController): Unit = message match
    case report: PackReport =>
      packs.get(report.packKey).foreach(_ ! report)
      if report.events.lastOption.exists(_.isInstanceOf[PackEvent.PackEnded]) then
        packs = packs.removed(report.packKey)
    case cleaned: FlareCleaned =>
      cleanings.getOrElse(cleaned.flareId, Vector.empty).foreach(_ ! cleaned)
      cleanings = cleanings.removed(cleaned.flareId)
    case ControllerBundle(messages) => messages.foreach(onReceived)
    case fetch: FetchPackage => registry ! PackageRequest(fetch, packages)
    case holds: Holds => registry ! InvokerHolds(id, context.self, holds)

  private def lose(loss: InvokerLoss): Behavior[Command] =
    end(InvokerRegistry.Lost(id, context.self, loss))

  private def end(told: InvokerRegistry.Command): Behavior[Command] =
    ended = true
    hello.from ! Over(context.self, handsOver = false)
    if joined then registry ! told
    Behaviors.stopped
