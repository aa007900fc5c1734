package burst.invoker

import burst.invoker.driver.ContainerBase
import burst.invoker.heartbeat.CpuLoad
import burst.invoker.pack.{LoadedPack, PackActor, PackServices, Supply}
import burst.invoker.packages.PackageCache
import burst.invoker.pool.{IdlePack, PackGuess, PackPool, PackShape, PackSize, PoolLimits}
import burst.node.MonotonicTime
import burst.node.logs.LogIds.of
import burst.protocol.*
import org.apache.pekko.Done
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.Future

/** What is fixed about an invoker. `slots` applies if they follow no cluster; `memoryLimit` is in MiB.
  * `prewarmed` containers are kept ready, the first ones for workers of `prewarmedMemory` MiB. `clean`
  * deletes what a flare left on its backend.
  */
final case class InvokerSettings(
    slots: Int,
    memoryLimit: Option[Long],
    pool: PoolLimits,
    heartbeatInterval: FiniteDuration,
    prewarmed: Int,
    prewarmedMemory: Int,
    runtime: RuntimeInfo,
    clean: (FlareId, BackendConfig) => Future[Option[Failure]]
)

/** The agent on a machine: runs every pack that it is given ([[ActivePacks]]), keeps those that can stay warm
  * ([[WarmPacks]], [[PrewarmedContainers]]), and reports to the controller that it exists and how busy it is.
  *
  * A pack that is requested twice is started once, and its reports answer both requests. If a `PackActor`
  * breaks, the end of its pack is reported here: no `PreparePack` remains unanswered.
  */
object Invoker:
  type Command =
    InvokerRequest | PackActor.Finished | PackActor.Shares | ActivePacks.Terminated | WarmPacks.Event |
      PrewarmedContainers.Event | BackendCleanings.Event | Internal

  /** Messages from the invoker's own side. */
  sealed trait Internal

  /** Ends all packs, running and warm; answered when nothing of them is left, and no backend is being
    * cleaned; it waits for cleaning only for `lastCleanings`, as the server may be gone. From then on the
    * invoker refuses packs and sends no heartbeats, so that to the controller it neither exists nor has
    * failed.
    */
  final case class Stop(lastCleanings: FiniteDuration, replyTo: ActorRef[Done]) extends Internal

  /** The invoker leaves: it announces that, and answers when nothing runs and nothing is on its way to it any
    * more; it still does what it is asked for meanwhile.
    */
  final case class Leave(replyTo: ActorRef[Done]) extends Internal

  /** A heartbeat that announced the leaving was acknowledged. If the scheduler says whether the machine is
    * free, only that decides whether anything is on its way: the scheduler places no more there, and whatever
    * it had placed holds slots.
    */
  final case class LeaveAcknowledged(free: Option[Boolean]) extends Internal

  /** Packs may run until then, unless that is renewed. Without any renewal they have no lease. */
  final case class RenewLease(until: MonotonicTime) extends Internal

  /** Kills every running pack; answered when none is left. Warm ones, which run nothing, stay. */
  final case class EndPacks(failure: Failure, replyTo: ActorRef[Done]) extends Internal
  private case object Beat extends Internal

  /** The cluster's room for packs has changed. */
  private case object RoomChanged extends Internal

  private val Stopping = Failure(FailureKind.InvokerLost, "the invoker is being stopped")

  def apply(
      settings: InvokerSettings,
      services: PackServices,
      load: CpuLoad,
      controller: ActorRef[RegistryCommand[Invoker.Command]]
  ): Behavior[Command] = Behaviors.setup: context =>
    Behaviors.withTimers: timers =>
      timers.startTimerAtFixedRate(Beat, settings.heartbeatInterval)
      new Invoker(settings, services, load, controller, context).begin()

private final class Invoker(
    settings: InvokerSettings,
    services: PackServices,
    load: CpuLoad,
    controller: ActorRef[RegistryCommand[Invoker.Command]],
    context: ActorContext[Invoker.Command]
):
  import Invoker.*

  // As large as a pack can be on this machine; elsewhere nobody can know.
  private val largest =
    Option.when(services.driver.isLocal)(PackSize(settings.slots, settings.prewarmedMemory))
  private val packs = ActivePacks(services, context)
  private val warm = WarmPacks(settings.pool, services, context)
  private val prewarmed =
    PrewarmedContainers(settings.prewarmed, largest, services.driver, services.runtime, context)
  private val departure = Departure()
  private val cleanings = BackendCleanings(settings.clean, services.invoker, context)

  /** Whether it was asked to stop, and those to notify when nothing of it is left. */
  private var closing = false
  private var awaiting = Vector.empty[ActorRef[Done]]

  /** Sampled with each heartbeat, and not with each pack that comes back. */
  private var busy = load.sample()

  def begin(): Behavior[Command] =
    services.driver.onRoom(() => context.self ! RoomChanged)
    controller ! RegisterInvoker(status, context.self)
    prewarmed.startMissing()
    measure()
    Behaviors.receiveMessage: command =>
      on(command)
      packs.answerIfNone()
      departure.answerIfOver(isIdle)
      if closing && packs.isEmpty && warm.isEmpty && prewarmed.isEmpty && !cleanings.isAwaited then
        awaiting.foreach(_ ! Done)
        awaiting = Vector.empty
      Behaviors.same

  private def isIdle: Boolean = packs.isEmpty && cleanings.isEmpty

  private def on(command: Command): Unit = command match
    case InvokerRequest(command, replyTo) => handle(command, replyTo)
    case PackActor.Finished(key, pack, unused, answered, spent) =>
      packs.finished(key, answered)
      unused.foreach(prewarmed.takeBack)
      pack.foreach(takeBack(_, spent))
    case PackActor.Shares(key, pack) => packs.shares(key, warm.watched(pack))
    case ActivePacks.Terminated(key) => packs.terminated(key)
    case WarmPacks.Exited(container, exit) =>
      packs.exited(container, exit)
      warm.exited(container)
    case WarmPacks.Evicted(pack, outcome) => warm.evicted(pack, outcome)
    case event: PrewarmedContainers.Event => prewarmed.on(event)
    case event: BackendCleanings.Event => cleanings.on(event)
    case Beat => if !closing then
        busy = load.sample()
        departure.beat()
        beat()
        warm.expire()
        prewarmed.beat()
        measure()
    case RoomChanged => if !closing then beat()
    case LeaveAcknowledged(free) => departure.onAcknowledged(free, isIdle)
    case RenewLease(until) => packs.renewLease(until)
    case EndPacks(failure, replyTo) => packs.end(failure, replyTo)
    case Leave(replyTo) =>
      departure.begin(replyTo)
      if !closing then beat()
    case Stop(lastCleanings, replyTo) =>
      closing = true
      awaiting :+= replyTo
      packs.abortAll(Stopping)
      cleanings.close(lastCleanings)
      warm.close()
      prewarmed.close()

  private def handle(command: InvokerCommand, replyTo: ActorRef[InvokerReport]): Unit = command match
    case PreparePack(assignment) if !assignment.packSizes.lift(assignment.pack).exists(_ > 0) =>
      val message = s"there is no pack ${assignment.pack} with workers in this flare"
      packs.refuse(assignment, replyTo, Failure(FailureKind.InvalidInput, message))
    case PreparePack(assignment) =>
      assignment.group match
        case Some(GroupRole.Member(group)) =>
          val run = PackActor.Run(assignment, replyTo)
          if closing then packs.groupEnded(run) else packs.join(group, run)
        case _ => prepare(assignment, replyTo)
    case StartPack(flareId, pack, endpoints) => packs.send(flareId, pack)(PackActor.Start(flareId, endpoints))
    case AbortPack(flareId, pack, failure) =>
      packs.send(flareId, pack)(PackActor.Abort(flareId, failure, atOnce = false))
    case OutputStored(flareId, pack) => packs.send(flareId, pack)(PackActor.OutputStored(flareId))
    case CleanFlare(flareId, backend) => cleanings.start(flareId, backend, replyTo)
    case WantRoom(packs) => services.driver.requestRoom(packs)
    // handled by the link, which keeps packs' reports, and reads the latter from `Seen`
    case _: (AdoptPack | PackStored) | NothingMore => ()

  private def prepare(assignment: PackAssignment, replyTo: ActorRef[PackReport]): Unit =
    if packs.contains(assignment.packKey) then
      context.log.atWarn().of(
        assignment.flareId,
        assignment.origin
      ).log("pack {} was asked for twice", assignment.pack)
    else if closing then packs.refuse(assignment, replyTo, Stopping)
    else
      val shape = PackShape.of(assignment)
      val shared = packs.sharedBy(assignment)
      if shared.isDefined then shared.foreach(packs.launch(assignment, _, replyTo))
      else
        warm.take(shape)(victims(shape, _)) match
          case None =>
            val limit = settings.memoryLimit.getOrElse(0L)
            val need = s"the pack needs ${shape.totalMemoryMiB} MiB"
            val message = s"$need, and of this invoker's $limit MiB too few are free"
            packs.refuse(assignment, replyTo, Failure(FailureKind.StartFailed, message))
          case Some(Supply.Nothing) =>
            val container = ContainerBase.of(shape.definition) match
              case ContainerBase.Image(_) => None // it runs in another one
              case _ => prewarmed.take(PackGuess.of(shape))
            packs.launch(assignment, container.fold(Supply.Nothing)(Supply.Prewarmed(_)), replyTo)
          case Some(supply) => packs.launch(assignment, supply, replyTo)

  /** The warm packs that have to be evicted for a pack of this shape; nothing if even that would not suffice.
    */
  private def victims(
      shape: PackShape,
      idle: PackPool[LoadedPack]
  ): Option[Vector[IdlePack[LoadedPack]]] =
    val onNode = for room <- services.driver.room; node <- shape.node yield victimsOn(node, room, shape, idle)
    onNode.orElse:
      val memory =
        settings.memoryLimit.fold(0L)(packs.memoryMiB + idle.memoryMiB + shape.totalMemoryMiB - _)
      val workers =
        if services.driver.reserves then packs.workers + idle.workers + shape.workers - settings.slots else 0
      idle.holding(memory, workers)

  /** The warm packs that are in a pack's way on its node. Whether the node has room without them is up to the
    * cluster.
    */
  private def victimsOn(
      node: String,
      room: ClusterRoom,
      shape: PackShape,
      all: PackPool[LoadedPack]
  ): Vector[IdlePack[LoadedPack]] =
    val idle = all.on(node)
    val shapes = idle.idle.map(_.shape) ++ packs.shapesOn(node) :+ shape
    val known = room.nodes.find(_.node == node)
    val memory = shapes.map(_.totalMemoryMiB + room.packMemory).sum - known.fold(0L)(_.memory)
    val workers = shapes.map(_.workers).sum - known.fold(0)(_.slots)
    idle.holding(memory.min(idle.memoryMiB), workers).getOrElse(Vector.empty)

  /** A call or flare has left this container: what happens to the container depends on whether others are in
    * it.
    */
  private def takeBack(pack: LoadedPack, spent: Boolean): Unit =
    if packs.isIn(pack) then services.packages ! PackageCache.Release(pack.packageId)
    else if spent then warm.discard(pack)
    else keep(pack)

  private def keep(pack: LoadedPack): Unit =
    if pack.shape.definition.concurrency > 1 then services.driver.disconnect(pack.container)
    warm.keep(pack)
    measure()
    // the next flare may come immediately, and should find what is warm
    if !closing && warm.offers != reported then beat()

  /** The warm packs in the last heartbeat. */
  private var reported = Set.empty[WarmPack]

  private def beat(): Unit =
    val now = status
    reported = now.warm
    controller ! Heartbeat(now)

  /** Updates metrics that the packs themselves do not know, as often as the controller gets a heartbeat. */
  private def measure(): Unit =
    services.metrics.measured(
      slots = slots(services.driver.room),
      warm = warm.size,
      prewarmed = prewarmed.ready,
      load = busy
    )

  private def slots(room: Option[ClusterRoom]) = room.fold(settings.slots)(_.nodes.map(_.slots).sum)

  private def status =
    val room = services.driver.room
    InvokerStatus(
      services.invoker,
      slots(room),
      busy,
      services.driver.name,
      warm.size,
      settings.runtime,
      prewarmed.ready,
      warm.offers,
      leaving = Option.when(departure.isBegun)(true),
      room = room,
      shares = Some(true)
    )
