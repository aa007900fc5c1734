package burst.invoker

import burst.node.MonotonicTime
import burst.protocol.*
import burst.protocol.link.*
import org.apache.pekko.Done
import org.apache.pekko.actor.typed.delivery.{ConsumerController, ProducerController}
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** The invoker's end of its session with the scheduler's controller (see `Link`). It stands in for the
  * controller towards the invoker and its package cache.
  *
  * ==States==
  * {{{
  *             RegisterInvoker                 Welcome, of no older epoch
  *   (start) ───────────────────▶ connecting ─────────────────────────────▶ connected ◀─┐ Welcome, of a
  *                                    ▲                                         │   └─────┘ later epoch
  *                                    │                                         │ told Over, nothing was Seen
  *                                    │                                         │ for too long, a message broke it
  *                                    └─────────────── leaving ◀────────────────┘
  *                                    every pack has ended
  * }}}
  * If it is refused while connecting it reports that, and its process should end.
  *
  *   - ''connecting'': says Hello to every endpoint, at every heartbeat of the invoker; logged once if nobody
  *     answers.
  *   - ''connected'': a session. The invoker's heartbeats are its beats. If nothing was seen for a while, or
  *     the scheduler announces that it hands over, it also says Hello: a scheduler that welcomes it by a
  *     later epoch has taken over, and the next session begins with the packs of this one ([[PackJournals]]).
  *   - ''leaving'': the session's packs are being killed. Their reports are dropped.
  *
  * The packs' runtimes receive the duration of the session as a lease, so that they end with it even if this
  * process is stalled then. Silence is counted from when the last beat that was seen was sent, by a clock
  * that goes on while the process is stalled.
  */
object ControllerLink:
  private[invoker] sealed trait Internal
  private final case class Demand(next: ProducerController.RequestNext[ToController]) extends Internal
  private final case class Received(delivery: ConsumerController.Delivery[ToInvoker]) extends Internal
  private final case class Reported(report: InvokerReport) extends Internal
  private case object Ended extends Internal
  private case object Check extends Internal

  /** The actor that receives the session's messages, or sends them, has died of one. */
  private case object Broken extends Internal

  /** It looks for another scheduler after this fraction of the time in which something must be seen. */
  private val QuietFraction = 5

  /** After this many Hellos it logs that nobody answers. */
  private val HellosBeforeWarning = 10

  /** Why a session has ended. */
  private enum SessionEnd:
    case Silence(contact: FiniteDuration)
    case BrokenMessage
    case EndedByScheduler

    def sentence: String = this match
      case Silence(contact) => s"nothing was heard of the scheduler for ${contact.toCoarsest}"
      case BrokenMessage => "a message of the session cannot be read, or written"
      case EndedByScheduler => "the scheduler ended the session"

  /** When it began to keep packs: locally, and by the clock of the scheduler that then welcomed this invoker,
    * if that sent its time.
    */
  private final case class KeptSince(at: MonotonicTime, since: Option[Timestamp])

  type Command = RegistryCommand[Invoker.Command] | ToLink | Internal

  /** What the invoker's process has to know. */
  enum Event:
    /** A session has begun. */
    case Joined

    /** There will be no session. */
    case Refused(reason: String)

  /** @param home
    *   the identity of the data directory, see `Hello`
    * @param hint
    *   the question to the operator when no endpoint answers
    * @param journalMemory
    *   bytes of reports that may be kept for another scheduler
    */
  final case class Settings(
      endpoints: Vector[SessionEndpoint],
      home: String,
      hint: String,
      journalMemory: Long
  )

  def apply(settings: Settings, events: ActorRef[Event]): Behavior[RegistryCommand[Invoker.Command]] =
    Behaviors
      .setup[Command] { context =>
        context.setLoggerName("burst.invoker.ControllerLink")
        Behaviors.withTimers(timers => new ControllerLink(settings, events, context, timers).begin())
      }
      .narrow

private final class ControllerLink(
    settings: ControllerLink.Settings,
    events: ActorRef[ControllerLink.Event],
    context: ActorContext[ControllerLink.Command],
    timers: TimerScheduler[ControllerLink.Command]
):
  import ControllerLink.*
  import settings.endpoints

  private val answers = context.messageAdapter[InvokerReport](Reported(_))

  private var epoch = 0L
  private var beats = 0L
  private var sessions = 0
  private var fetches = Map.empty[FetchPackage, ActorRef[PackageReply]]
  private val journals = PackJournals(settings.journalMemory)

  /** The packs that wait for room in the invoker's cluster. */
  private var wanted = Vector.empty[WantedPacks]

  /** Since when all packs that any scheduler asked for have been kept. */
  private var keptSince = Option.empty[KeptSince]

  /** One session. `sent` has the beats not seen yet, with the times they were sent; `contactAt` is when the
    * last one that has been seen was sent: a new session does not extend the lease of packs.
    */
  private final class Session(val welcome: Welcome, var contactAt: MonotonicTime):
    sessions += 1
    private val name = s"$sessions"
    private val producer = s"to-controller-$name"
    private val reports = context.spawn(ProducerController[ToController](producer, None), producer)
    private val commands = context.spawn(ConsumerController[ToInvoker](), s"to-invoker-$name")
    val version: Int = welcome.version.getOrElse(Protocol.Nodes.oldest)
    private val outbox = Outbox[ToController](version)
    private var sent = Map.empty[Long, MonotonicTime]
    private var isOver = false

    /** What the scheduler last reported about whether an invoker that is leaving is free. */
    var free = Option.empty[Boolean]
    private val packs = PackRelay(journals, outbox.put)
    export outbox.put
    export packs.{adopt, began, outputStored, remove as ended, report}

    reports ! ProducerController.Start(context.messageAdapter(Demand(_)))
    commands ! ConsumerController.Start(context.messageAdapter(Received(_)))
    commands ! ConsumerController.RegisterToProducerController(welcome.toInvoker)
    context.watchWith(reports, Broken)
    context.watchWith(commands, Broken)
    timers.startTimerAtFixedRate(Check, (welcome.contact / 20).max(1.milli))

    def beat(status: InvokerStatus): Unit = if !isOver then
      beats += 1
      sent = sent.updated(beats, MonotonicTime.now())
      welcome.session ! Beat(beats, status, reports)

    def seen(beat: Long): Unit =
      sent.get(beat).foreach(at => contactAt = contactAt.max(at))
      sent = sent.filter(_._1 > beat)

    // The last messages of the previous session's producer and consumer may still be on their way.
    def demanded(next: ProducerController.RequestNext[ToController]): Unit =
      if next.producerId == producer then outbox.demanded(next)
    def isOwn(delivery: ConsumerController.Delivery[ToInvoker]): Boolean = delivery.confirmTo == commands

    /** When the session is over, unless something is seen before. */
    def lease: MonotonicTime = contactAt + welcome.contact

    def isOverdue: Boolean = MonotonicTime.now() > lease

    /** The scheduler hands over: nothing more can be sent to it. */
    def markOver(): Unit = isOver = true

    /** Whether it is time to look for another scheduler. */
    def isQuiet: Boolean =
      isOver || MonotonicTime.now() > contactAt + welcome.contact / QuietFraction

    /** Whether nobody waits for anything that the next scheduler would receive, or that this one had placed.
      */
    def isIdle: Boolean = journals.held.isEmpty && (isOver || !free.contains(false))

    def close(): Unit =
      timers.cancel(Check)
      Seq(reports, commands).foreach: end =>
        context.unwatch(end)
        context.stop(end)

  def begin(): Behavior[Command] = receive {
    case RegisterInvoker(status, invoker) => connecting(invoker, status, tries = 1)
  }

  private def connecting(
      invoker: ActorRef[Invoker.Command],
      status: InvokerStatus,
      tries: Long,
      hellos: Int = 1
  ): Behavior[Command] =
    hello(status, tries)
    if hellos == HellosBeforeWarning then context.log.warn(unanswered)
    // no scheduler can have placed anything here
    if status.isLeaving then invoker ! Invoker.LeaveAcknowledged(free = None)
    receive {
      case Heartbeat(now) => connecting(invoker, now, tries, (hellos + 1).min(HellosBeforeWarning + 1))
      case Refused(reason) =>
        events ! Event.Refused(reason)
        Behaviors.same
      case welcome: Welcome if welcome.tries == tries && welcome.epoch >= epoch =>
        join(invoker, status, Session(welcome, MonotonicTime.now()))
      case _: UnregisterInvoker => departed
    }

  private def hello(status: InvokerStatus, tries: Long): Unit =
    endpoints.foreach(_ ! Hello.own(status.id, tries, context.self, settings.home))

  /** Begins a session, with the packs that were kept from the previous one. */
  private def join(
      invoker: ActorRef[Invoker.Command],
      status: InvokerStatus,
      session: Session
  ): Behavior[Command] =
    epoch = session.welcome.epoch
    // the new scheduler may be of a release that never sends this
    requestRoom(invoker, Vector.empty)
    session.beat(status)
    invoker ! Invoker.RenewLease(session.lease)
    val held = journals.held
    context.log.info(
      s"joined the scheduler of epoch $epoch by version ${session.version}, with ${held.length} packs"
    )
    session.put(Holds(held, isUnbroken(session), keptSince.flatMap(_.since)))
    keptSince = keptSince.orElse(Some(KeptSince(MonotonicTime.now(), session.welcome.at)))
    journals.partial.foreach(endPartial(invoker, _))
    fetches.keys.foreach(session.put)
    events ! Event.Joined
    connected(invoker, status, session)

  /** Whether it was never asked for any pack that it does not hold. Anything lost earlier has long been
    * stored by the scheduler that it then joined.
    */
  private def isUnbroken(session: Session): Boolean =
    keptSince.exists(_.at + session.welcome.contact / 2 < MonotonicTime.now())

  /** Too little is kept of the pack for another scheduler to continue it. */
  private def endPartial(invoker: ActorRef[Invoker.Command], pack: PackKey): Unit =
    val failure = Failure(FailureKind.InvokerLost, "the scheduler changed while the pack put out too much")
    invoker ! InvokerRequest(AbortPack(pack.flareId, pack.pack, failure), answers)

  private def unanswered: String =
    val addresses = endpoints.map(_.address).map(at => s"${at.host.mkString}:${at.port.mkString}")
    s"no controller answers at ${addresses.mkString(", ")}, or another, silent invoker still holds this id; " +
      s"still trying. Is a controller running there, and ${settings.hint}?"

  private def connected(
      invoker: ActorRef[Invoker.Command],
      status: InvokerStatus,
      session: Session
  ): Behavior[Command] = receive {
    case Heartbeat(now) =>
      session.beat(now)
      if session.isQuiet then
        hello(now, session.welcome.tries)
        if now.isLeaving && session.isIdle then invoker ! Invoker.LeaveAcknowledged(free = None)
      if now == status then Behaviors.same else connected(invoker, now, session)
    case Seen(beat, wantedPacks, free) =>
      session.seen(beat)
      session.free = free
      if status.isLeaving then invoker ! Invoker.LeaveAcknowledged(free)
      wantedPacks.foreach(requestRoom(invoker, _))
      invoker ! Invoker.RenewLease(session.lease)
      Behaviors.same
    case Check if session.isOverdue =>
      leave(invoker, status, session, SessionEnd.Silence(session.welcome.contact))
    case welcome: Welcome if welcome.epoch > epoch && !session.isOverdue =>
      session.close()
      join(invoker, status, Session(welcome, session.contactAt))
    case Broken =>
      leave(invoker, status, session, SessionEnd.BrokenMessage)
    case Over(over, true) if over == session.welcome.session =>
      session.markOver()
      hello(status, session.welcome.tries)
      Behaviors.same
    case Over(over, false) if over == session.welcome.session =>
      leave(invoker, status, session, SessionEnd.EndedByScheduler)
    case Demand(next) =>
      session.demanded(next)
      Behaviors.same
    case Received(delivery) if session.isOwn(delivery) =>
      onReceived(invoker, session, delivery.message)
      delivery.confirmTo ! ConsumerController.Confirmed
      Behaviors.same
    case Reported(report: PackReport) =>
      session.report(journals.add(report))
      Behaviors.same
    case Reported(report) =>
      session.put(report)
      Behaviors.same
    case PackageRequest(fetch, replyTo) =>
      fetches = fetches.updated(fetch, replyTo)
      session.put(fetch)
      Behaviors.same
    case UnregisterInvoker(_, _, reason) =>
      session.welcome.session ! Farewell(reason)
      session.close()
      departed
  }

  private def onReceived(
      invoker: ActorRef[Invoker.Command],
      session: Session,
      message: ToInvoker
  ): Unit = message match
    case InvokerBundle(messages) => messages.foreach(onReceived(invoker, session, _))
    case AdoptPack(flareId, attempt, pack) => session.adopt(PackKey(flareId, attempt, pack))
    case PackStored(flareId, attempt, pack, reports, over) =>
      val held = PackKey(flareId, attempt, pack)
      if over then session.ended(held) else journals.stored(held, reports)
    case command: InvokerCommand =>
      val passed = command match
        case PreparePack(assignment) =>
          session.began(assignment.packKey)
          true
        case OutputStored(flareId, pack) => session.outputStored(flareId, pack)
        case _ => true
      if passed then invoker ! InvokerRequest(command, answers)
    case chunk: PackageChunk =>
      val fetch = FetchPackage(chunk.packageId, chunk.offset)
      fetches.get(fetch).foreach(_ ! chunk)
      fetches = fetches.removed(fetch)
    case missing: PackageMissing =>
      val (requesters, others) = fetches.partition(_._1.packageId == missing.packageId)
      requesters.values.foreach(_ ! missing)
      fetches = others

  private def requestRoom(invoker: ActorRef[Invoker.Command], packs: Vector[WantedPacks]): Unit =
    if packs != wanted then
      wanted = packs
      invoker ! InvokerRequest(WantRoom(packs), answers)

  private def leave(
      invoker: ActorRef[Invoker.Command],
      status: InvokerStatus,
      session: Session,
      end: SessionEnd
  ): Behavior[Command] =
    context.log.warn(s"${end.sentence}: every pack is killed before another session begins")
    session.close()
    fetches = Map.empty
    requestRoom(invoker, Vector.empty)
    journals.clear()
    keptSince = None
    val failure = Failure(FailureKind.InvokerLost, end.sentence, invoker = Some(status.id))
    invoker ! Invoker.EndPacks(failure, context.messageAdapter[Done](_ => Ended))
    receive {
      case Ended => connecting(invoker, status, session.welcome.tries + 1)
      case _: UnregisterInvoker => departed
    }

  /** The process is ending: it begins no other session, even if the scheduler ends this one. */
  private def departed: Behavior[Command] = receive(PartialFunction.empty)

  /** Messages that a state does not name are ignored in it. */
  private def receive(handler: PartialFunction[Command, Behavior[Command]]): Behavior[Command] =
    Behaviors.receiveMessagePartial[Command](handler.orElse { case _ => Behaviors.same })
