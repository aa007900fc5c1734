package burst.controller.cluster

import burst.controller.store.{
  AdvisoryLock,
  LockMode,
  SharedLock,
  StoreSettings,
  StoreUnavailable,
  UncontendedLock
}
import burst.node.{ClusterSettings, SetupException}
import com.typesafe.config.Config
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorSystem, Behavior, DispatcherSelector}
import org.apache.pekko.Done
import org.apache.pekko.actor.CoordinatedShutdown.IncompatibleConfigurationDetectedReason
import org.apache.pekko.actor.{Address, AddressFromURIString, CoordinatedShutdown}
import org.apache.pekko.cluster.ClusterEvent.MemberEvent
import org.apache.pekko.cluster.MemberStatus
import org.apache.pekko.cluster.typed.{Cluster, Join, JoinSeedNodes, SelfRemoved, Subscribe}
import scala.concurrent.duration.{Deadline, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.jdk.DurationConverters.*
import scala.util.{Failure, Success, Try}

/** This controller's membership of the cluster; see [[BootstrapStep]].
  *
  * @param joined
  *   completes when it is a member and the database knows; fails with a message for the operator if it cannot
  *   become one
  * @param removed
  *   completes when it is no longer a member
  */
final class Membership private (val joined: Future[Unit], val removed: Future[Unit])

/** @param foundAfter
  *   how long others have to answer before this controller may be the first
  * @param joinTimeout
  *   how long it may take to become a member
  */
final case class MembershipSettings(foundAfter: FiniteDuration, joinTimeout: FiniteDuration)

object MembershipSettings:
  def from(config: Config): MembershipSettings =
    val cluster = config.getConfig("burst.cluster")
    MembershipSettings(
      cluster.getDuration("found-after").toScala,
      cluster.getDuration("join-timeout").toScala
    )

object Membership:
  /** Joins the seeds of the configuration, or founds the cluster. A controller with a database of its own is
    * alone, and founds it immediately. Throws `SetupException`.
    */
  def begin(config: Config)(using system: ActorSystem[?]): Membership =
    val seeds = ClusterSettings.from(config).seedAddresses.map(AddressFromURIString(_))
    val settings = MembershipSettings.from(config)
    StoreSettings.from(config).postgres match
      case Some(database) => begin(seeds, AdvisoryLock(database, AdvisoryLock.Members), settings)
      case None =>
        if seeds.exists(_ != self) then
          throw SetupException(
            "burst.cluster.seeds names other controllers: they need one database between them, burst.store.postgresql."
          )
        begin(seeds, UncontendedLock, settings.copy(foundAfter = 0.seconds))

  private[cluster] def begin(seeds: Vector[Address], lock: SharedLock, settings: MembershipSettings)(using
      system: ActorSystem[?]
  ): Membership =
    val (joined, removed) = (Promise[Unit](), Promise[Unit]())
    system.systemActorOf(
      Behaviors.setup[Message]: context =>
        Behaviors.withTimers: timers =>
          Joining(seeds.filter(_ != self), lock, settings, joined, removed, context, timers).behavior,
      "burst-membership"
    )
    Membership(joined.future, removed.future)

  private def self(using system: ActorSystem[?]): Address = Cluster(system).selfMember.address

  private[cluster] sealed trait Message
  private[cluster] case object Wake extends Message
  private[cluster] case object Check extends Message
  private[cluster] final case class Became(status: MemberStatus) extends Message
  private[cluster] case object Removed extends Message
  private[cluster] case object Overdue extends Message
  private[cluster] final case class LockQueried(held: Try[Option[LockMode]], claimed: Boolean) extends Message

/** Carries out each [[BootstrapStep]]. Queries the lock by one call at a time, outside the actor's thread. */
private final class Joining(
    others: Vector[Address],
    lock: SharedLock,
    settings: MembershipSettings,
    joined: Promise[Unit],
    removed: Promise[Unit],
    context: ActorContext[Membership.Message],
    timers: TimerScheduler[Membership.Message]
):
  import Joining.*
  import Membership.*

  private val cluster = Cluster(context.system)
  private val blocking: ExecutionContext = context.system.dispatchers.lookup(DispatcherSelector.blocking())
  private var status: MemberStatus = MemberStatus.Removed
  private var held = Option.empty[LockMode]
  private var isQuerying = false
  private var answersUntil = Deadline.now + settings.foundAfter
  private var pause = FirstPause
  private var told = false
  private var failing = false
  private var away = Option.empty[StoreUnavailable]

  def behavior: Behavior[Message] =
    context.setLoggerName(classOf[Membership])
    val events = context.messageAdapter[MemberEvent]: event =>
      if event.member.uniqueAddress == cluster.selfMember.uniqueAddress then Became(event.member.status)
      else Wake
    cluster.subscriptions ! Subscribe(events, classOf[MemberEvent])
    cluster.subscriptions ! Subscribe(context.messageAdapter[SelfRemoved](_ => Removed), classOf[SelfRemoved])
    // Pekko terminates the actor system of a node that is refused.
    val shutdown = CoordinatedShutdown(context.system)
    shutdown.addTask(CoordinatedShutdown.PhaseBeforeServiceUnbind, "burst-refused"): () =>
      if shutdown.shutdownReason().contains(IncompatibleConfigurationDetectedReason) then
        joined.tryFailure(SetupException(VersionCheck.Refusal))
      Future.successful(Done)
    // Not when it has left: then the system begins to terminate, possibly before the remaining work is done.
    CoordinatedShutdown(context.system)
      .addTask(CoordinatedShutdown.PhaseBeforeActorSystemTerminate, "burst-membership"): () =>
        Future { lock.close(); Done }(using blocking)
    timers.startSingleTimer(Overdue, settings.joinTimeout)
    timers.startTimerWithFixedDelay(Check, CheckInterval)
    requestJoin()
    act()
    Behaviors.receiveMessage:
      case Wake =>
        act()
        Behaviors.same
      case Check =>
        if held.nonEmpty then queryLock(claims = false)(lock.held())
        act()
        Behaviors.same
      case Became(now) =>
        status = now
        // A controller that was a member and no longer is does not found a cluster: `Removed` follows.
        if isMember then act()
        Behaviors.same
      case LockQueried(answer, claimed) =>
        isQuerying = false
        answered(answer, claimed)
        act()
        Behaviors.same
      case Overdue =>
        joined.tryFailure(away.getOrElse(SetupException(overdue)))
        Behaviors.same
      case Removed => leave()

  private def act(): Unit =
    BootstrapStep.next(isMember, held, answersUntil.hasTimeLeft()) match
      case BootstrapStep.Probe => timers.startSingleTimer(Wake, answersUntil.timeLeft.max(0.seconds))
      case BootstrapStep.ClaimLock => queryLock(claims = true)(taken(lock.tryExclusive(), LockMode.Exclusive))
      case BootstrapStep.SelfJoin => cluster.manager ! Join(cluster.selfMember.address)
      case BootstrapStep.ShareLock => queryLock(claims = false)(taken(lock.tryShared(), LockMode.Shared))
      case BootstrapStep.Joined =>
        if status == MemberStatus.Up && joined.trySuccess(()) then timers.cancel(Overdue)

  /** Asks the others to let this controller in. */
  private def requestJoin(): Unit = if others.nonEmpty then cluster.manager ! JoinSeedNodes(others)

  private def isMember: Boolean = status != MemberStatus.Removed

  private def taken(success: Boolean, hold: LockMode): Option[LockMode] = Option.when(success)(hold)

  private def queryLock(claims: Boolean)(query: => Option[LockMode]): Unit = if !isQuerying then
    isQuerying = true
    context.pipeToSelf(Future(query)(using blocking))(LockQueried(_, claims))

  private def answered(answer: Try[Option[LockMode]], claimed: Boolean): Unit = answer match
    case Success(now) =>
      if held.nonEmpty && now.isEmpty then
        context.log.warn("the database has lost that this controller is a member; telling it again")
      held = now
      failing = false
      away = None
      if claimed then
        if now.nonEmpty then context.log.info("nobody is a member of the cluster: this controller founds it")
        else refused()
    case Failure(cause) =>
      held = None
      (claimed, cause) match
        case (true, unavailable: StoreUnavailable) if unavailable.mayPass => awaitDatabase(unavailable)
        // Without the database a controller could do nothing, even as a member.
        case (true, _) => joined.tryFailure(cause)
        case (false, _) =>
          if !failing then
            context.log
              .error("the database cannot be told that this controller is a member; trying again", cause)
      failing = true

  /** Keeps trying: the database may start later than its controllers. */
  private def awaitDatabase(unavailable: StoreUnavailable): Unit =
    if away.isEmpty then context.log.warn(s"${unavailable.getMessage}; still trying", unavailable)
    away = Some(unavailable)
    retryJoin()

  /** There is a member, or will soon be one, which may answer now. Each time it has longer to do so. */
  private def refused(): Unit =
    if !told && pause == LongestPause then
      told = true
      context.log.warn(s"$silence: waiting for one to answer, or for all of them to end")
    retryJoin()

  private def retryJoin(): Unit =
    answersUntil = Deadline.now + pause
    pause = (pause * 2).min(LongestPause)
    requestJoin()

  private def silence: String =
    val where = if others.isEmpty then "burst.cluster.seeds names none"
    else
      s"none answers at ${others.map(
          address => s"${address.host.getOrElse("")}:${address.port.getOrElse(0)}"
        ).mkString(", ")} to who has this one's key (burst.cluster.key)"
    s"the database says that other controllers are members of a cluster, but $where"

  private def overdue: String =
    val time = settings.joinTimeout.toCoarsest
    if isMember then s"the other controllers have not taken this one in within $time: see their logs."
    else s"$silence within $time: wake them, end them, or name them among the seeds."

  private def leave(): Behavior[Message] =
    removed.trySuccess(())
    Behaviors.stopped

private object Joining:
  private val CheckInterval = 1.second
  private val FirstPause = 1.second
  private val LongestPause = 4.seconds
