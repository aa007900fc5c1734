package burst.controller.cluster

import burst.protocol.ControllerProtocol.{
  FetchPackage,
  Heartbeat,
  PackageChunk,
  PackageMissing,
  PackageReply,
  RegisterInvoker,
  UnregisterInvoker
}
import burst.protocol.InvokerProtocol.{
  AbortPack,
  CleanFlare,
  FlareCleaned,
  OutputStored,
  PreparePack,
  StartPack
}
import burst.protocol.link.*
import burst.protocol.{ControllerProtocol, FlareId, InvokerProtocol, PackEvent, PackReport}
import org.apache.pekko.actor.typed.delivery.{ConsumerController, ProducerController}
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.collection.immutable.Queue

/** The controller's end of a session with an invoker in another process (see `Link`). To the scheduler and
  * the registry it is the invoker: it takes their commands and passes on what the invoker tells, to whoever
  * asked for it.
  */
private[cluster] object InvokerSession:
  sealed trait Internal

  /** Another session takes this one's place, or the scheduler ends. */
  final case class End(reason: String) extends Internal

  /** The invoker says Hello again: the welcome was lost. */
  case object WelcomeAgain extends Internal

  /** Another invoker says Hello by the same id: it is refused as soon as this one is known to live. */
  final case class Rival(from: ActorRef[ToInvoker]) extends Internal
  private final case class Demand(next: ProducerController.RequestNext[Order]) extends Internal
  private final case class Received(delivery: ConsumerController.Delivery[News]) extends Internal
  private final case class Fetched(reply: PackageReply) extends Internal
  private case object Silent extends Internal

  type Command = ToSession | InvokerProtocol.Command | Internal

  def apply(
      hello: Hello,
      epoch: Long,
      settings: SessionSettings,
      registry: ActorRef[ControllerProtocol.Message]
  ): Behavior[Command] = Behaviors.setup { context =>
    context.setLoggerName("burst.controller.cluster.InvokerSession")
    Behaviors.withTimers(timers =>
      new InvokerSession(hello, epoch, settings, registry, context, timers).begin()
    )
  }

private final class InvokerSession(
    hello: Hello,
    epoch: Long,
    settings: SessionSettings,
    registry: ActorRef[ControllerProtocol.Message],
    context: ActorContext[InvokerSession.Command],
    timers: TimerScheduler[InvokerSession.Command]
):
  import InvokerSession.*

  private val id = hello.status.id
  private val orders = context.spawn(ProducerController[Order](s"orders-${id.value}", None), "orders")
  private val news = context.spawn(ConsumerController[News](), "news")
  private val packages = context.messageAdapter[PackageReply](Fetched(_))

  private var joined = false
  private var rivals = Set.empty[ActorRef[ToInvoker]]
  private var demand = Option.empty[ActorRef[Order]]
  private var waiting = Queue.empty[Order]
  private var packs = Map.empty[(FlareId, Int, Int), ActorRef[PackReport]]
  private var cleanings = Map.empty[FlareId, Vector[ActorRef[FlareCleaned]]]

  def begin(): Behavior[Command] =
    orders ! ProducerController.Start(context.messageAdapter(Demand(_)))
    news ! ConsumerController.Start(context.messageAdapter(Received(_)))
    welcome()
    heard()
    Behaviors.receiveMessage {
      case beat: Beat =>
        onBeat(beat)
        Behaviors.same
      case Farewell(reason) => end(reason)
      case End(reason) => end(reason)
      case Silent => end(s"it was not heard of for ${settings.silence.toCoarsest}")
      case WelcomeAgain =>
        if !joined then welcome()
        Behaviors.same
      case Rival(from) =>
        rivals += from
        Behaviors.same
      case Demand(next) =>
        demand = Some(next.sendNextTo)
        send()
        Behaviors.same
      case Received(delivery) =>
        onNews(delivery.message)
        delivery.confirmTo ! ConsumerController.Confirmed
        Behaviors.same
      case Fetched(PackageChunk(packageId, offset, bytes, total)) =>
        order(Order.Package(packageId, offset, bytes, total))
      case Fetched(PackageMissing(packageId)) => order(Order.NoPackage(packageId))
      case PreparePack(assignment, replyTo) =>
        packs = packs.updated((assignment.flareId, assignment.attempt, assignment.pack), replyTo)
        order(Order.Prepare(assignment))
      case StartPack(flareId, pack, endpoints) => order(Order.Start(flareId, pack, endpoints))
      case AbortPack(flareId, pack, failure) => order(Order.Abort(flareId, pack, failure))
      case OutputStored(flareId, pack) => order(Order.OutputStored(flareId, pack))
      case CleanFlare(flareId, backend, replyTo) =>
        cleanings = cleanings.updated(flareId, cleanings.getOrElse(flareId, Vector.empty) :+ replyTo)
        order(Order.Clean(flareId, backend))
    }

  private def welcome(): Unit =
    hello.from ! Welcome(epoch, hello.tries, settings.contact.toMillis, context.self, orders)

  private def heard(): Unit = timers.startSingleTimer(Silent, settings.silence)

  private def onBeat(beat: Beat): Unit =
    heard()
    hello.from ! Seen(beat.number)
    if rivals.nonEmpty then
      context.log.warn(s"refused another invoker by the id of ${id.value}, which is up")
      rivals.foreach(_ ! Refused(taken))
      rivals = Set.empty
    if joined then registry ! Heartbeat(beat.status)
    else
      joined = true
      news ! ConsumerController.RegisterToProducerController(beat.news)
      registry ! RegisterInvoker(beat.status, context.self)

  private def taken: String =
    val where = hello.from.path.address.host.fold("")(host => s" on $host")
    s"another invoker$where has the id ${id.value} and is up: give this one an id of its own with --id, and no " +
      "copy of the other's data directory, or stop the other."

  private def order(order: Order): Behavior[Command] =
    waiting = waiting.enqueue(order)
    send()
    Behaviors.same

  private def send(): Unit =
    for
      next <- demand
      (first, rest) <- waiting.dequeueOption
    do
      waiting = rest
      demand = None
      next ! first

  private def onNews(news: News): Unit = news match
    case News.Report(report) =>
      val key = (report.flareId, report.attempt, report.pack)
      packs.get(key).foreach(_ ! report)
      if report.events.lastOption.exists(_.isInstanceOf[PackEvent.PackEnded]) then packs = packs.removed(key)
    case News.Cleaned(flareId, error) =>
      cleanings.getOrElse(flareId, Vector.empty).foreach(_ ! FlareCleaned(flareId, error))
      cleanings = cleanings.removed(flareId)
    case News.Fetch(packageId, offset) => registry ! FetchPackage(packageId, offset, packages)

  private def end(reason: String): Behavior[Command] =
    hello.from ! Over(context.self)
    if joined then registry ! UnregisterInvoker(id, context.self, reason)
    Behaviors.stopped
