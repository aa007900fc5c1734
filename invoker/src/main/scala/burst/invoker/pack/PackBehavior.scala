package burst.invoker.pack

import burst.invoker.driver.{Container, ContainerExit, NetworkAccess, PackResources, StopOutcome}
import burst.invoker.packages.PackageCache
import burst.invoker.pool.PackShape
import burst.invoker.runtime.Refusal
import burst.protocol.*
import java.nio.file.Path
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import org.apache.pekko.stream.Materializer
import scala.concurrent.duration.{DurationLong, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.Try

/** What a pack does in each of its states, as `PackActor` describes them. One instance serves a pack, or a
  * group's pack, and one more each flare that runs on it.
  */
private[pack] final class PackBehavior(
    asked: PackAssignment,
    services: PackServices,
    replyTo: ActorRef[PackReport],
    invoker: ActorRef[PackActor.Finished],
    firstLease: Option[Long],
    context: ActorContext[PackActor.Command],
    timers: TimerScheduler[PackActor.Command],
    group: Option[PackBehavior] = None
):
  import PackActor.*
  import services.{driver, runtime, timings}

  private given ExecutionContext = context.executionContext
  private given Materializer = Materializer(context)
  private val assignment = asked.withoutInputs

  // Forgotten once the runtime has them: they may be large, and a pack may last.
  private var inputs = asked.inputs
  private val outputs = OutputFlow(services.outputs)
  private val reporter = PackReporter(assignment, services, replyTo)
  private val shape = PackShape(assignment.definition, assignment.size, assignment.memory)
  private val isGroup = assignment.group.exists(_.isInstanceOf[GroupRole.Holder])

  private val due = System.nanoTime() + assignment.timeLeft.micros.toNanos
  private var lease = firstLease

  def begin(supply: Supply): Behavior[Command] =
    if !isGroup then limitTime()
    supply match
      case Supply.Nothing => fetch(None)
      case Supply.Prewarmed(container) => fetch(Some(container))
      case Supply.Warm(pack) =>
        if pack.shape.workers == shape.workers && !pack.throttled then loaded(pack, PackStart.Warm)
        else resize(pack)

  private def limitTime(): Unit =
    timers.startSingleTimer(FlareOverdue, assignment.timeLeft.micros + timings.deadlineSlack)

  // ---- Resizing, Replacing -------------------------------------------------------------------------------

  private def resize(pack: LoadedPack): Behavior[Command] =
    tell(driver.resize(pack.container, resources(pack.packagePath)))(_.getOrElse(false))(Resized(_))
    receive:
      case Resized(true) => loaded(pack.copy(shape = shape, throttled = false), PackStart.Warm)
      case Resized(false) => replace(pack)
      case Ending(failure) => destroy(pack, Some(failure))

  /** The warm pack is of no use: a cold one takes its place, unless the flare has ended meanwhile. */
  private def replace(pack: LoadedPack, aborted: Option[Failure] = None): Behavior[Command] =
    tell(driver.stop(pack.container))(asOutcome)(Removed(_))
    replacing(pack, aborted)

  private def replacing(pack: LoadedPack, aborted: Option[Failure]): Behavior[Command] = receive:
    case Removed(outcome) =>
      release(outcome)
      aborted.fold(fetch(None))(failure => end(Some(failure)))
    case Ending(failure) => replacing(pack, aborted.orElse(Some(failure)))

  // ---- Fetching ------------------------------------------------------------------------------------------

  private def fetch(prewarmed: Option[Container]): Behavior[Command] =
    val answer = context.messageAdapter[Either[Failure, Path]](PackageReady(_))
    services.packages ! PackageCache.Acquire(shape.definition.packageId, answer)
    receive:
      case PackageReady(Right(directory)) => prewarmed.fold(create(directory))(adopt(_, directory))
      case PackageReady(Left(failure)) => end(Some(failure), prewarmed)
      case Ending(failure) =>
        // Nothing of this pack is on the machine, so its end is told now; only the package has to be returned.
        val _ = end(Some(failure), prewarmed)
        receive:
          case PackageReady(outcome) =>
            outcome.foreach(_ => releasePackage())
            Behaviors.stopped

  // ---- Adopting ------------------------------------------------------------------------------------------

  private def adopt(prewarmed: Container, directory: Path): Behavior[Command] =
    tell(driver.adopt(prewarmed, resources(directory)))(_.toOption.flatten)(Adopted(_))
    adopting(prewarmed, directory, aborted = None)

  private def adopting(prewarmed: Container, directory: Path, aborted: Option[Failure]): Behavior[Command] =
    receive:
      case Adopted(Some(container)) =>
        val pack = LoadedPack(container, shape, directory)
        watchExit(container)
        aborted.fold(load(pack, PackStart.Prewarmed))(failure => destroy(pack, Some(failure)))
      case Adopted(None) =>
        tell(driver.stop(prewarmed))(asOutcome)(Removed(_))
        discarding(directory, aborted)
      case Ending(failure) => adopting(prewarmed, directory, aborted.orElse(Some(failure)))

  /** The pre-warmed container is of no use: a new one takes its place. */
  private def discarding(directory: Path, aborted: Option[Failure]): Behavior[Command] = receive:
    case Removed(_) if aborted.isEmpty => create(directory)
    case Removed(_) =>
      releasePackage()
      end(aborted)
    case Ending(failure) => discarding(directory, aborted.orElse(Some(failure)))

  // ---- Creating ------------------------------------------------------------------------------------------

  private def create(directory: Path): Behavior[Command] =
    tell(driver.start(resources(directory)))(asStarted)(Created(_))
    creating(directory, aborted = None)

  private def creating(directory: Path, aborted: Option[Failure]): Behavior[Command] = receive:
    case Created(Right(container)) =>
      val pack = LoadedPack(container, shape, directory)
      watchExit(container)
      aborted.fold(load(pack, PackStart.Cold))(failure => destroy(pack, Some(failure)))
    case Created(Left(failure)) =>
      releasePackage()
      end(aborted.orElse(Some(during(StartOperation.Create, failure))))
    case Ending(failure) => creating(directory, aborted.orElse(Some(failure)))

  // ---- Initialising --------------------------------------------------------------------------------------

  /** Its program has to be started: by the call that opens the pack, where there is something to run. */
  private def load(pack: LoadedPack, start: PackStart): Behavior[Command] =
    timers.startSingleTimer(InitOverdue, timings.init)
    if isGroup then initialise(pack, start) else open(pack, start)

  private def initialise(pack: LoadedPack, start: PackStart): Behavior[Command] =
    tell(connected(pack)(runtime.init(
      pack.container.address,
      pack.container.source
    )))(asTaken)(Initialised(_))
    receive:
      case Initialised(Right(())) =>
        timers.cancel(InitOverdue)
        loaded(pack, start)
      case Initialised(Left(refusal)) => breakOff(pack, refusal)
      case Exited(id, exit) if id == pack.container.id =>
        destroy(pack, Some(during(StartOperation.Init, died(exit))))
      case Ending(failure) => destroy(pack, Some(failure))

  /** With its program's network in place: user code may run as soon as the runtime is asked. */
  private def connected[A](pack: LoadedPack)(
      ask: => Future[Either[Refusal, A]]
  ): Future[Either[Refusal, A]] =
    val access =
      NetworkAccess(assignment.flareId, assignment.packSizes.size, assignment.backend, assignment.egress)
    driver.connect(pack.container, access).flatMap:
      case Right(()) => ask
      case Left(failure) =>
        Future.successful(Left(Refusal(failure.message, operation = Some(StartOperation.Create))))

  /** The runtime's answer is bad; if its container has died or is about to, then that is the reason to tell.
    */
  private def breakOff(pack: LoadedPack, refusal: Refusal): Behavior[Command] =
    if refusal.said.nonEmpty then reporter.tell(refusal.said)
    timers.startSingleTimer(Settled, timings.settle)
    receive:
      case Exited(id, exit) if id == pack.container.id && exit.oomKilled =>
        destroy(pack, Some(during(StartOperation.Init, died(exit))))
      case Exited(id, _) if id == pack.container.id =>
        destroy(pack, Some(during(StartOperation.Init, refusal.failure)))
      case Settled => destroy(pack, Some(during(StartOperation.Init, refusal.failure)))
      case Ending(aborted) => destroy(pack, Some(aborted))

  /** Its program is up. */
  private def loaded(pack: LoadedPack, start: PackStart): Behavior[Command] =
    if !isGroup then open(pack, start)
    else
      reporter.tell(Vector(PackEvent.Ready(endpoint = None, services.clock())), Some(start))
      driver.confine(pack.container)
      rest(pack)

  // ---- Resting: a pack of a group, between its flares ----------------------------------------------------

  /** What came for a pack of a group while it could not be done. */
  private var waiting = Option.empty[Run]
  private var closing = Option.empty[Failure]
  private var answered = Option.empty[FlareId]

  private def rest(pack: LoadedPack): Behavior[Command] =
    Seq(FlareOverdue, Settled, AbortOverdue).foreach(timers.cancel)
    val next = waiting
    waiting = None
    closing.map(failure => destroy(pack, Some(failure))).orElse(next.map(serve(pack, _))).getOrElse:
      receive:
        case run: Run => serve(pack, run)
        case Exited(id, exit) if id == pack.container.id => destroy(pack, Some(died(exit)))
        case Ending(failure) => destroy(pack, Some(failure))

  private def serve(pack: LoadedPack, run: Run): Behavior[Command] =
    answered = Some(run.assignment.flareId)
    val flare =
      new PackBehavior(
        run.assignment,
        services,
        run.replyTo,
        invoker,
        lease,
        context,
        timers,
        group = Some(this)
      )
    flare.limitTime()
    flare.open(pack, PackStart.Warm)

  private def notServed(run: Run): Unit =
    val gone =
      Failure(FailureKind.PackLost, "the group ended before the flare began", operation = Some("start"))
    PackReporter(run.assignment, services, run.replyTo).ended(reusable = false, Some(gone))

  // ---- Opening -------------------------------------------------------------------------------------------

  private def open(pack: LoadedPack, start: PackStart): Behavior[Command] =
    val fresh = Option.when(start != PackStart.Warm)(pack.container.source)
    def run = runtime.run(pack.container.address, runPack(pack), fresh)
    // a group's pack has the group's network
    tell(if group.isEmpty then connected(pack)(run) else run)(asTaken)(Opened(_))
    val replaceable = start == PackStart.Warm && group.isEmpty
    receive:
      case Opened(Right(events)) =>
        timers.cancel(InitOverdue)
        inputs = Inputs.Hidden
        events.via(outputs.flow).runForeach(batch => context.self ! Events(batch)).onComplete: ended =>
          context.self ! StreamEnded(ended.failed.toOption)
        running(pack, start, aborted = None)
      case Opened(Left(refusal)) => if replaceable then replace(pack) else breakOff(pack, refusal)
      case Exited(id, exit) if id == pack.container.id =>
        if replaceable then replace(pack) else destroy(pack, Some(during(StartOperation.Init, died(exit))))
      case Ending(failure) => destroy(pack, Some(failure))

  // ---- Running -------------------------------------------------------------------------------------------

  private def running(pack: LoadedPack, start: PackStart, aborted: Option[Failure]): Behavior[Command] =
    receive:
      case Events(events) => pass(pack, start, events, intact = aborted.isEmpty).getOrElse(Behaviors.same)
      case Start(id, endpoints) if id == assignment.flareId =>
        tell(runtime.start(pack.container.address, id, endpoints))(asAnswer)(Started(id, _))
        Behaviors.same
      case OutputStored(id) if id == assignment.flareId =>
        outputs.stored()
        Behaviors.same
      case Started(id, Left(failure)) if id == assignment.flareId =>
        breaking(pack, start, aborted, Some(failure), streamEnded = false, exit = None)
      case StreamEnded(_) => breaking(pack, start, aborted, None, streamEnded = true, exit = None)
      case Exited(id, exit) if id == pack.container.id =>
        breaking(pack, start, aborted, None, streamEnded = false, exit = Some(exit))
      case Lease(until) =>
        prolong(until)
        // Another one follows before this is over: an answer that is lost costs nothing.
        leaseLeft.foreach(left => runtime.renew(pack.container.address, assignment.flareId, left))
        Behaviors.same
      case SlotsDue =>
        val left = shape.workers - finished
        tell(driver.throttle(pack.container, left))(_.getOrElse(false))(Throttled(left, _))
        Behaviors.same
      case Throttled(left, done) =>
        if done then reporter.tell(Vector.empty, slots = Some(left))
        if done && shape.workers - finished < left then returnSlotsSoon()
        running(pack.copy(throttled = pack.throttled || done), start, aborted)
      case AtOnce(failure) => destroy(pack, Some(failure))
      case Ending(failure) if aborted.isEmpty =>
        tell(runtime.abort(pack.container.address, assignment.flareId, failure))(asAnswer)(AbortSent(_))
        timers.startSingleTimer(AbortOverdue, timings.abort)
        running(pack, start, Some(failure))
      case AbortOverdue => destroy(pack, aborted)

  /** The pack is lost; waits shortly for what is still on its way: last events, and how the container ended.
    */
  private def breaking(
      pack: LoadedPack,
      start: PackStart,
      aborted: Option[Failure],
      reason: Option[Failure],
      streamEnded: Boolean,
      exit: Option[ContainerExit]
  ): Behavior[Command] =
    def lost = exit.map(died).orElse(aborted).orElse(reason).getOrElse:
      Failure(FailureKind.PackLost, "the connection to the pack's runtime broke")
    if streamEnded && exit.nonEmpty then destroy(pack, Some(lost))
    else
      if !timers.isTimerActive(Settled) then timers.startSingleTimer(Settled, timings.settle)
      receive:
        case Events(events) => pass(pack, start, events, intact = false).getOrElse(Behaviors.same)
        case OutputStored(id) if id == assignment.flareId =>
          outputs.stored()
          Behaviors.same
        case StreamEnded(_) => breaking(pack, start, aborted, reason, streamEnded = true, exit)
        case Exited(id, exit) if id == pack.container.id =>
          breaking(pack, start, aborted, reason, streamEnded, Some(exit))
        case Settled | AbortOverdue => destroy(pack, Some(lost))
        case AtOnce(failure) => destroy(pack, Some(failure))

  /** Reports what happened; answers where to go when the pack has ended by it. Only one that nothing has
    * befallen (`intact`) is kept, whatever its runtime thinks of it.
    */
  private def pass(
      pack: LoadedPack,
      start: PackStart,
      events: Vector[PackEvent],
      intact: Boolean
  ): Option[Behavior[Command]] =
    val (before, ended) = events.span(!_.isInstanceOf[PackEvent.PackEnded])
    if before.nonEmpty then
      val ready = before.exists(_.isInstanceOf[PackEvent.Ready])
      reporter.tell(before, Option.when(ready)(start))
      if ready then driver.confine(pack.container)
      noteFinished(before)
    ended.headOption.collect:
      case PackEvent.PackEnded(true, error, _) if intact => keep(pack, error.map(ofProgram))
      case PackEvent.PackEnded(_, error, _) => destroy(pack, error.map(ofProgram))

  /** A program may say what it likes, but not in the invoker's name that the machine is at fault. */
  private def ofProgram(error: Failure): Failure =
    error.copy(operation = error.operation.filterNot(StartOperation.All))

  private var finished = 0

  /** Workers of a pack that goes on give their slots back after a while, those that end meanwhile together:
    * most packs end as a whole, and are spared the calls.
    */
  private def noteFinished(events: Vector[PackEvent]): Unit =
    val before = finished
    finished += events.count:
      case _: (PackEvent.WorkerSucceeded | PackEvent.WorkerFailed) => true
      case _ => false
    // a group keeps its slots for its next flare
    if group.isEmpty && finished > before && finished < shape.workers && !timers.isTimerActive(SlotsDue) then
      returnSlotsSoon()

  private def returnSlotsSoon(): Unit =
    timings.slotReturn.foreach(delay => timers.startSingleTimer(SlotsDue, SlotsDue, delay))

  // ---- Destroying, Ended ---------------------------------------------------------------------------------

  /** The answer is read to its end first: to break it off would look to the runtime like a lost invoker. */
  private def keep(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
    timers.startSingleTimer(Settled, timings.settle)
    receive:
      case StreamEnded(None) =>
        outputs.close()
        if group.isEmpty then
          driver.disconnect(pack.container)
          invoker ! Finished(key, Some(pack))
        reporter.ended(reusable = true, error)
        group.fold(Behaviors.stopped)(_.rest(pack))
      case StreamEnded(Some(_)) | Settled => destroy(pack, error)
      case Exited(id, _) if id == pack.container.id => destroy(pack, error)
      case AtOnce(_) => destroy(pack, error)

  private def destroy(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
    tell(driver.stop(pack.container))(asOutcome)(Removed(_))
    receive:
      case Removed(outcome) =>
        release(outcome)
        end(error)

  /** Ends a pack that holds no container, but for one it never used. */
  private def end(error: Option[Failure], unused: Option[Container] = None): Behavior[Command] =
    outputs.close()
    val whole = group.getOrElse(this)
    val next = whole.waiting
    invoker ! Finished(key, None, unused, answered = next.map(_.assignment.flareId).orElse(whole.answered))
    (reporter +: group.map(_.reporter).toVector).foreach(_.ended(reusable = false, error))
    next.foreach(notServed)
    Behaviors.stopped

  private def key: PackKey = group.fold(PackKey(assignment))(_.key)

  private def release(outcome: StopOutcome): Unit = outcome match
    case StopOutcome.Gone => releasePackage()
    case StopOutcome.StillThere(reason) =>
      context.log.error("pack {} of flare {}: {}", assignment.pack, assignment.flareId.value, reason)

  private def releasePackage(): Unit =
    services.packages ! PackageCache.Release(shape.definition.packageId)

  // ---- What all states share -----------------------------------------------------------------------------

  /** What ends a pack other than its own end: an abort, a program that does not come up, or the flare's
    * deadline when nobody has sent one.
    */
  private object Ending:
    def unapply(command: Command): Option[Failure] = command match
      case Abort(id, failure, _) if concerns(id) => Some(failure)
      case FlareOverdue => Some(Failure(FailureKind.Timeout, "the flare's deadline has passed"))
      case InitOverdue =>
        val message = s"the program did not report within ${timings.init}: is it linked with the Burst SDK?"
        Some(Failure(FailureKind.StartFailed, message, operation = Some(StartOperation.Init)))
      case _ => None

  /** An abort that gives nobody time. */
  private object AtOnce:
    def unapply(command: Command): Option[Failure] = command match
      case Abort(id, failure, true) if concerns(id) => Some(failure)
      case _ => None

  private def concerns(id: FlareId): Boolean = id == assignment.flareId || group.exists(_.concerns(id))

  /** What a state does not name does not concern it: timers and answers it no longer waits for. Only what is
    * meant for a group is kept until the group rests or has ended.
    */
  private def receive(handler: PartialFunction[Command, Behavior[Command]]): Behavior[Command] =
    Behaviors.receiveMessagePartial[Command](handler.orElse {
      case run: Run =>
        group.getOrElse(this).waiting = Some(run)
        Behaviors.same
      case Abort(id, failure, _) if group.exists(_.concerns(id)) =>
        group.foreach(_.closing = Some(failure))
        Behaviors.same
      case Lease(until) =>
        prolong(until)
        Behaviors.same
      case _ => Behaviors.same
    })

  private def tell[A, B](future: Future[A])(outcome: Try[A] => B)(command: B => Command): Unit =
    context.pipeToSelf(future)(result => command(outcome(result)))

  private def asAnswer[A](result: Try[Either[Failure, A]]): Either[Failure, A] =
    result.fold(problem => Left(internal(problem)), identity)

  private def asTaken[A](result: Try[Either[Refusal, A]]): Either[Refusal, A] =
    result.fold(problem => Left(Refusal(internal(problem).message)), identity)

  private def asStarted(result: Try[Either[Failure, Container]]): Either[Failure, Container] =
    asAnswer(result)

  private def asOutcome(result: Try[StopOutcome]): StopOutcome =
    result.fold(problem => StopOutcome.StillThere(internal(problem).message), identity)

  private def internal(problem: Throwable): Failure =
    Failure(FailureKind.Internal, s"${problem.getClass.getSimpleName}: ${problem.getMessage}")

  private def watchExit(container: Container): Unit =
    context.pipeToSelf(container.exit)(exit => Exited(container.id, ContainerExit.of(exit)))

  private def died(exit: ContainerExit): Failure =
    if exit.oomKilled then
      val memory = s"${shape.totalMemoryMiB} MiB for ${shape.workers} workers"
      Failure(FailureKind.OutOfMemory, s"the pack's container used more than its memory ($memory)")
    else
      Failure(FailureKind.PackLost, s"the pack's container ${exit.how}")

  private def during(operation: String, failure: Failure): Failure =
    failure.copy(operation = failure.operation.orElse(Some(operation)))

  private def resources(directory: Path) = PackResources(shape.workers, shape.memoryMiB, directory)

  /** A group has the lease of the flare that runs on it, and hands it on to the next. */
  private def prolong(until: Long): Unit = (this +: group.toVector).foreach(_.lease = Some(until))

  private def leaseLeft: Option[FiniteDuration] = lease.map(until => (until - System.nanoTime()).max(0).nanos)

  private def runPack(pack: LoadedPack) = RunPack(
    assignment.flareId,
    assignment.pack,
    assignment.packSizes,
    inputs,
    assignment.backend,
    assignment.secret,
    services.advertise.getOrElse(pack.container.address.host),
    services.clock() + (due - System.nanoTime()).nanos.toMicros,
    group.map(_.assignment.flareId),
    assignment.autostart,
    leaseLeft.map(_.toMillis),
    driver.programMemory(shape.workers, shape.memoryMiB)
  )
