package burst.invoker

import burst.invoker.heartbeat.CpuLoad
import burst.invoker.pack.{LoadedPack, PackActor, PackKey, PackReporter, PackServices, Supply}
import burst.invoker.packages.PackageCache
import burst.invoker.driver.{Container, ContainerExit, StopOutcome}
import burst.invoker.pool.{IdlePack, PackPool, PackShape, PackSize, PoolLimits, PrewarmPool}
import burst.protocol.*
import org.apache.pekko.Done
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.duration.{DurationLong, FiniteDuration}
import scala.concurrent.Future
import scala.util.Success

/** What is fixed about an invoker. `memoryLimit` in MiB. `prewarmed` containers are kept ready, the first for
  * workers of `prewarmedMemory` MiB. `clean` deletes what a flare left on its backend.
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

/** The agent on a machine: starts a `PackActor` for every pack it is given, keeps what may stay warm, and
  * tells the controller that it is there and how busy.
  *
  * A pack that is asked for twice is started once, and its reports answer both. Should a `PackActor` break,
  * the end of its pack is reported here: no `PreparePack` remains unanswered.
  */
object Invoker:
  type Command = InvokerRequest | PackActor.Finished | Internal

  /** What only the invoker's own side says to it. */
  sealed trait Internal

  /** Ends all packs, running and warm; answered when nothing of them is left. From then on the invoker
    * refuses packs and is silent, so that to the controller it is neither there nor broken.
    */
  final case class Stop(replyTo: ActorRef[Done]) extends Internal

  /** Packs may run until then by `System.nanoTime`, unless that is renewed. Without any they have no lease.
    */
  final case class RenewLease(until: Long) extends Internal

  /** Kills every running pack; answered when none is left. Warm ones, which run nothing, stay. */
  final case class EndPacks(failure: Failure, replyTo: ActorRef[Done]) extends Internal
  private final case class Terminated(key: PackKey) extends Internal
  private final case class KeptExited(container: String, exit: ContainerExit) extends Internal
  private final case class Prewarmed(outcome: Either[Failure, Container]) extends Internal
  private final case class PrewarmedExited(container: Container) extends Internal
  private final case class Discarded(container: Container, outcome: StopOutcome) extends Internal
  private final case class Evicted(pack: LoadedPack, outcome: StopOutcome) extends Internal
  private final case class Cleaned(replyTo: ActorRef[InvokerReport], cleaned: FlareCleaned) extends Internal
  private case object Beat extends Internal

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

  /** A pack that is there; `runs` is the last flare that came to it, where it is a group's. */
  private final case class Active(
      actor: ActorRef[PackActor.Command],
      assignment: PackAssignment,
      replyTo: ActorRef[PackReport],
      runs: Option[PackActor.Run] = None
  ):
    def isOf(flareId: FlareId): Boolean =
      assignment.flareId == flareId || runs.exists(_.assignment.flareId == flareId)
    def memoryMiB: Long = assignment.size.toLong * assignment.memory

  /** `leaving` counts the containers that are being removed from the pools, `awaiting` are those who want to
    * know when nothing is left of an invoker that is `closing`, `ending` those who want to know when no pack
    * runs, `lease` is until when packs may run.
    */
  private final case class State(
      active: Map[PackKey, Active],
      pool: PackPool[LoadedPack],
      prewarmed: PrewarmPool[Container],
      leaving: Int,
      closing: Boolean,
      awaiting: Vector[ActorRef[Done]],
      ending: Vector[ActorRef[Done]],
      lease: Option[Long]
  ):
    def of(flareId: FlareId, pack: Int): Iterable[Active] =
      active.collect { case (key, active) if key.pack == pack && active.isOf(flareId) => active }
    def promisedMiB: Long = active.values.map(_.memoryMiB).sum + pool.idle.map(_.shape.totalMemoryMiB).sum
    def workers: Int = active.values.map(_.assignment.size).sum + pool.idle.map(_.shape.workers).sum
    def isEmpty: Boolean = active.isEmpty && pool.idle.isEmpty && prewarmed.isEmpty && leaving == 0

  def begin(): Behavior[Command] =
    // As large as a pack can be on this machine; elsewhere nobody could tell.
    val most = Option.when(services.driver.isLocal)(PackSize(settings.slots, settings.prewarmedMemory))
    val prewarmed = PrewarmPool[Container](settings.prewarmed, most)
    val state = State(
      Map.empty,
      PackPool(settings.pool),
      prewarmed,
      leaving = 0,
      closing = false,
      awaiting = Vector.empty,
      ending = Vector.empty,
      lease = None
    )
    controller ! RegisterInvoker(status(state), context.self)
    running(prewarm(state))

  private def running(state: State): Behavior[Command] =
    if state.active.isEmpty && state.ending.nonEmpty then
      state.ending.foreach(_ ! Done)
      running(state.copy(ending = Vector.empty))
    else if state.closing && state.isEmpty then
      state.awaiting.foreach(_ ! Done)
      Behaviors.receiveMessage(handle(state.copy(awaiting = Vector.empty), _))
    else Behaviors.receiveMessage(handle(state, _))

  private def handle(state: State, command: Command): Behavior[Command] = command match
    case InvokerRequest(command, replyTo) => obey(state, command, replyTo)
    case Cleaned(replyTo, cleaned) =>
      cleaned.error.foreach(error => context.log.warn("flare {}: {}", cleaned.flareId.value, error.message))
      replyTo ! cleaned
      Behaviors.same
    case PackActor.Finished(key, warm, unused, answered) =>
      state.active.get(key).flatMap(_.runs).filterNot(run =>
        answered.contains(run.assignment.flareId)
      ).foreach(gone)
      val rest = forget(state, key)
      val back = unused.fold(rest)(takeBack(rest, _))
      running(warm.fold(back)(keep(back, _)))
    case Prewarmed(outcome) => running(ready(state, outcome))
    case PrewarmedExited(container) =>
      running(if state.prewarmed.ready.contains(container) then discard(state, container) else state)
    case Discarded(container, outcome) =>
      outcome match
        case StopOutcome.Gone => ()
        case StopOutcome.StillThere(reason) => context.log.error("a pre-warmed pack: {}", reason)
      running(state.copy(leaving = state.leaving - 1))
    case Terminated(key) => running(broken(state, key))
    case KeptExited(container, exit) =>
      state.active.values.foreach(_.actor ! PackActor.Exited(container, exit))
      running(state.pool.find(_.container.id == container).fold(state)(pack => evict(state, Vector(pack))))
    case Evicted(pack, outcome) =>
      outcome match
        case StopOutcome.Gone => services.packages ! PackageCache.Release(pack.packageId)
        case StopOutcome.StillThere(reason) => context.log.error("a warm pack: {}", reason)
      running(state.copy(leaving = state.leaving - 1))
    case Beat if state.closing => Behaviors.same
    case Beat =>
      controller ! Heartbeat(status(state))
      val (_, expired) = state.pool.expire(elapsed)
      val rest = evict(state, expired)
      running(prewarm(rest.copy(prewarmed = rest.prewarmed.beat)))
    case RenewLease(until) =>
      state.active.values.foreach(_.actor ! PackActor.RenewLease(until))
      running(state.copy(lease = Some(until)))
    case EndPacks(failure, replyTo) =>
      abortAll(state, failure)
      running(state.copy(ending = state.ending :+ replyTo))
    case Stop(replyTo) =>
      val failure = Failure(FailureKind.InvokerLost, "the invoker is being stopped")
      abortAll(state, failure)
      val closing = state.copy(closing = true, awaiting = state.awaiting :+ replyTo)
      running(state.prewarmed.ready.foldLeft(evict(closing, state.pool.idle))(discard))

  private def obey(
      state: State,
      command: InvokerCommand,
      replyTo: ActorRef[InvokerReport]
  ): Behavior[Command] = command match
    case PreparePack(assignment) =>
      assignment.group match
        case Some(GroupRole.Member(group)) => join(state, group, assignment, replyTo)
        case _ => prepare(state, assignment, replyTo)
    case StartPack(flareId, pack, endpoints) =>
      state.of(flareId, pack).foreach(_.actor ! PackActor.Start(flareId, endpoints))
      Behaviors.same
    case AbortPack(flareId, pack, failure) =>
      state.of(flareId, pack).foreach(_.actor ! PackActor.Abort(flareId, failure, atOnce = false))
      Behaviors.same
    case OutputStored(flareId, pack) =>
      state.of(flareId, pack).foreach(_.actor ! PackActor.OutputStored(flareId))
      Behaviors.same
    case CleanFlare(flareId, backend) =>
      clean(flareId, backend, replyTo)
      Behaviors.same

  // ---- Packs ---------------------------------------------------------------------------------------------

  private def prepare(
      state: State,
      assignment: PackAssignment,
      replyTo: ActorRef[PackReport]
  ): Behavior[Command] =
    val key = PackKey(assignment)
    def refuse(kind: FailureKind, message: String): Behavior[Command] =
      refused(assignment, replyTo, Failure(kind, message))
      Behaviors.same
    if state.active.contains(key) then
      context.log.warn("pack {} of flare {} was asked for twice", key.pack, key.flareId.value)
      Behaviors.same
    else if !assignment.packSizes.lift(assignment.pack).exists(_ > 0) then
      refuse(FailureKind.InvalidInput, s"there is no pack ${assignment.pack} with workers in this flare")
    else if state.closing then refuse(FailureKind.InvokerLost, "the invoker is being stopped")
    else
      val shape = PackShape(assignment.definition, assignment.size, assignment.memory)
      val (warm, pool) = state.pool.take(shape)
      val rest = state.copy(pool = pool)
      roomFor(rest, shape) match
        case None =>
          val limit = settings.memoryLimit.getOrElse(0L)
          val need = s"the pack needs ${shape.totalMemoryMiB} MiB"
          refuse(FailureKind.StartFailed, s"$need, and of this invoker's $limit MiB too few are free")
        case Some(victims) =>
          val (prewarmed, others) =
            if warm.isEmpty then rest.prewarmed.take(PackSize(shape.workers, shape.memoryMiB))
            else (None, rest.prewarmed)
          val supply = warm
            .map(idle => Supply.Warm(idle.container))
            .orElse(prewarmed.map(Supply.Prewarmed(_)))
            .getOrElse(Supply.Nothing)
          val after = evict(rest.copy(prewarmed = others), victims)
          running(launch(after, key, assignment, supply, replyTo))

  /** A flare of a group: its part goes to the group's pack. */
  private def join(
      state: State,
      group: FlareId,
      assignment: PackAssignment,
      replyTo: ActorRef[PackReport]
  ): Behavior[Command] =
    val run = PackActor.Run(assignment, replyTo)
    val known = run.copy(assignment = assignment.withoutInputs)
    state.active.find((key, _) => key.flareId == group && key.pack == assignment.pack) match
      case Some((key, pack)) if !state.closing =>
        pack.actor ! run
        running(state.copy(active = state.active.updated(key, pack.copy(runs = Some(known)))))
      case _ =>
        gone(run)
        Behaviors.same

  private def gone(run: PackActor.Run): Unit =
    val failure = Failure(FailureKind.PackLost, "the group has ended", operation = Some("start"))
    refused(run.assignment, run.replyTo, failure)

  private def abortAll(state: State, failure: Failure): Unit =
    state.active.foreach((key, pack) => pack.actor ! PackActor.Abort(key.flareId, failure, atOnce = true))

  /** The warm packs that have to go for a pack of this shape; nothing when not even that would do. */
  private def roomFor(state: State, shape: PackShape): Option[Vector[IdlePack[LoadedPack]]] =
    val memory = settings.memoryLimit.fold(0L)(state.promisedMiB + shape.totalMemoryMiB - _)
    val workers = if services.driver.reserves then state.workers + shape.workers - settings.slots else 0
    state.pool.holding(memory, workers)

  private def launch(
      state: State,
      key: PackKey,
      assignment: PackAssignment,
      supply: Supply,
      replyTo: ActorRef[PackReport]
  ): State =
    val actor = context.spawnAnonymous(PackActor(services, context.self))
    actor ! PackActor.Begin(assignment, supply, replyTo, state.lease)
    context.watchWith(actor, Terminated(key))
    state.copy(active = state.active.updated(key, Active(actor, assignment.withoutInputs, replyTo)))

  private def forget(state: State, key: PackKey): State = state.copy(active = state.active - key)

  private def keep(state: State, pack: LoadedPack): State =
    if state.closing then evict(state, Vector(IdlePack(pack, pack.shape, 0)))
    else
      if !pack.watched then
        context.pipeToSelf(pack.container.exit)(exit => KeptExited(pack.container.id, ContainerExit.of(exit)))
      val (pool, evicted) = state.pool.put(pack.copy(watched = true), pack.shape, elapsed)
      val kept = evict(state.copy(pool = pool), evicted)
      // the next flare may come at once, and is to find what is warm
      controller ! Heartbeat(status(kept))
      kept

  private def evict(state: State, packs: Vector[IdlePack[LoadedPack]]): State =
    packs.foldLeft(state): (state, idle) =>
      context.pipeToSelf(services.driver.stop(idle.container.container)):
        case Success(outcome) => Evicted(idle.container, outcome)
        case scala.util.Failure(problem) => Evicted(idle.container, StopOutcome.StillThere(problem.toString))
      state.copy(pool = state.pool.remove(idle.container), leaving = state.leaving + 1)

  // ---- Pre-warmed containers -----------------------------------------------------------------------------

  /** Starts a container if one is lacking; asked with every heartbeat, so that one that fails, or is used, is
    * not replaced at once.
    */
  private def prewarm(state: State): State =
    state.prewarmed.lacking.filterNot(_ => state.closing).fold(state): size =>
      context.pipeToSelf(services.driver.prewarm(size.workers, size.memoryMiB)): result =>
        Prewarmed(result.fold(problem => Left(Failure(FailureKind.Internal, problem.toString)), identity))
      state.copy(prewarmed = state.prewarmed.begun)

  private def ready(state: State, outcome: Either[Failure, Container]): State =
    outcome.left.foreach(failure => context.log.warn("no pre-warmed pack: {}", failure.message))
    val answered = state.copy(prewarmed = state.prewarmed.answered(outcome.isRight))
    outcome.fold(_ => answered, takeBack(answered, _))

  /** Keeps a container, unless another has taken its place meanwhile. */
  private def takeBack(state: State, container: Container): State =
    if state.closing || !state.prewarmed.hasRoom then discard(state, container)
    else
      context.pipeToSelf(container.exit)(_ => PrewarmedExited(container))
      state.copy(prewarmed = state.prewarmed.put(container))

  private def discard(state: State, container: Container): State =
    context.pipeToSelf(services.driver.stop(container)):
      case Success(outcome) => Discarded(container, outcome)
      case scala.util.Failure(problem) => Discarded(container, StopOutcome.StillThere(problem.toString))
    state.copy(prewarmed = state.prewarmed.remove(container), leaving = state.leaving + 1)

  /** A `PackActor` that has finished is not active any more: this one broke off. */
  private def broken(state: State, key: PackKey): State = state.active.get(key) match
    case None => state
    case Some(active) =>
      context.log.error("pack {} of flare {} broke off", key.pack, key.flareId.value)
      val failure = Failure(FailureKind.Internal, "the invoker failed; see its log")
      refused(active.assignment, active.replyTo, failure)
      active.runs.foreach(run => refused(run.assignment, run.replyTo, failure))
      forget(state, key)

  private def refused(assignment: PackAssignment, replyTo: ActorRef[PackReport], failure: Failure): Unit =
    PackReporter(assignment, services, replyTo).ended(reusable = false, Some(failure))

  // ---- Backends, status ----------------------------------------------------------------------------------

  /** A backend without an address is no server: nothing can have been left there. */
  private def clean(flareId: FlareId, backend: BackendConfig, replyTo: ActorRef[InvokerReport]): Unit =
    if backend.uri.isEmpty then replyTo ! FlareCleaned(flareId, None)
    else
      context.pipeToSelf(settings.clean(flareId, backend)): result =>
        val error = result.fold(
          problem => Some(Failure(FailureKind.Internal, problem.getClass.getSimpleName)),
          _.map(failure => failure.copy(invoker = Some(services.invoker)))
        )
        Cleaned(replyTo, FlareCleaned(flareId, error))

  /** In microseconds, whoever sets the machine's clock. */
  private def elapsed: Long = System.nanoTime().nanos.toMicros

  private def status(state: State) = InvokerStatus(
    services.invoker,
    settings.slots,
    load.sample(),
    services.driver.name,
    state.pool.idle.size,
    settings.runtime,
    state.prewarmed.ready.size,
    state.pool.idle.iterator.map(idle => WarmPack(idle.shape.definition, idle.shape.memoryMiB)).toSet
  )
