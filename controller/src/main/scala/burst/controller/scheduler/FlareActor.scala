package burst.controller.scheduler

import scala.util.{Success, Try}
import scala.concurrent.{ExecutionContext, Future}
import org.apache.pekko.actor.typed.PostStop
import burst.node.FairSemaphore
import burst.controller.flare.{Flare, FlareState}
import burst.controller.store.{FlareTaken, PackageGone}
import burst.protocol.*
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.util.control.NonFatal

/** Carries one flare through its life: feeds [[FlareLifecycle]] with what happens and does what it says.
  *
  * Nothing is announced before it is stored: the submitter is answered, invokers are asked for packs and
  * those who wait for the end are told only when the write that says so has returned. On the way of a short
  * flare that is placed at once there are two such writes, its insertion as `starting` and its results with
  * the final record; whatever else changes is gathered and written every `progress-interval`.
  *
  * A store that fails is tried again, at longer and longer intervals, while the packs go on; when that has
  * lasted too long the flare fails, its packs are told to end, and those who wait are told so even though the
  * record could not be written. That is tried on until it is stored (a restart finds the flare unfinished and
  * reports it failed, too). A flare that another controller has taken over is let go at once: its packs are
  * told to end, and who waits for it is referred to the store.
  */
object FlareActor:
  sealed trait Command

  /** The first message. Not part of the behavior, which would hold on to the flare's inputs for its life. */
  final case class Begin(flare: Flare, origin: Origin) extends Command

  /** Slots are reserved for an attempt. `invokers` are those of the plan. */
  final case class Placed(
      attempt: Int,
      plan: Plan,
      invokers: Map[InvokerId, ActorRef[InvokerRequest]]
  ) extends Command
  final case class InvokerDown(invoker: InvokerId, reason: String) extends Command
  final case class Cancel(by: CancelledBy, replyTo: ActorRef[CancelOutcome]) extends Command

  /** The group it waits for has ended. */
  case object GroupEnded extends Command

  /** To a group: a flare runs on it, or none any more. */
  final case class Occupied(busy: Boolean) extends Command

  /** Answered with the flare once it has ended. */
  final case class Await(replyTo: ActorRef[GangScheduler.Awaited]) extends Command

  /** The scheduler has forgotten the flare. */
  case object Retire extends Command

  private final case class Reported(report: InvokerReport) extends Command
  private final case class Expired(timer: FlareTimer, attempt: Int) extends Command
  private final case class StoreAnswered(written: Written) extends Command
  private final case class InputsGranted(attempt: Int, permit: FairSemaphore.Permit) extends Command
  private final case class InputsLoaded(attempt: Int, inputs: Try[Option[Inputs]]) extends Command
  private case object WriteProgress extends Command
  private case object WriteAgain extends Command
  private case object StoreOverdue extends Command

  /** How a flare comes to its actor. */
  enum Origin:
    /** Accepted just now: to be stored, and the submitter to be answered then. */
    case Accepted(replyTo: ActorRef[GangScheduler.Submitted], placed: Option[Placed])

    /** Found queued in the store. */
    case Recovered

  def apply(
      environment: FlareEnvironment,
      scheduler: ActorRef[GangScheduler.Command]
  ): Behavior[Command] =
    Behaviors.setup { context =>
      context.setLoggerName(classOf[FlareActor])
      Behaviors.withTimers { timers =>
        Behaviors.receiveMessagePartial:
          case Begin(flare, origin) =>
            new FlareActor(flare, origin, environment, scheduler, context, timers).behavior
      }
    }

private final class FlareActor(
    accepted: Flare,
    origin: FlareActor.Origin,
    environment: FlareEnvironment,
    scheduler: ActorRef[GangScheduler.Command],
    context: ActorContext[FlareActor.Command],
    timers: TimerScheduler[FlareActor.Command]
):
  import FlareActor.*
  import environment.{backends, settings}

  private val now = environment.clock.steady
  // Used while this is made and never after: what a method used would be held, with the inputs.
  private val id = accepted.id
  private val request = accepted.request.withoutInputs

  /** Only while they are small, or not stored yet. */
  private var inputs = accepted.request.inputs

  /** Those that were read again, while the packs are asked for. */
  private var readAgain = Option.empty[Inputs]

  /** The memory for large inputs, until the packs have them. */
  private var granted = Option.empty[FairSemaphore.Permit]

  /** All that was asked for of it, which may be granted when nobody is here any more. */
  private var asked = Vector.empty[Future[FairSemaphore.Permit]]
  private val terms = settings.terms(backends.needsCleaning(request.backend))
  private val reports = context.messageAdapter[InvokerReport](Reported(_))
  private val writer = FlareWriter(
    environment.store,
    environment.spool,
    id,
    alreadyStored = origin == Origin.Recovered,
    settings,
    cost => environment.logPace.take(request.definition.namespace, cost),
    environment.blocking,
    environment.transfers.of(request.definition.namespace),
    written => context.self ! StoreAnswered(written)
  )

  private var life = FlareLifecycle.queued(accepted, terms)
  private var invokers = Map.empty[InvokerId, ActorRef[InvokerRequest]]
  private val subscribers = FlareSubscribers()

  private val backoff = StoreBackoff(settings, timers, again = WriteAgain, overdue = StoreOverdue)

  /** How it ended, while that was told but could not be stored: it is tried until it is. */
  private var unstored = Option.empty[Flare]
  private var retired = false

  origin match
    case Origin.Accepted(replyTo, placed) =>
      subscribers.submits(replyTo)
      carryOut(FlareLifecycle.accept(accepted, terms))
      placed.foreach(onPlaced)
      writer.flush()
    case Origin.Recovered => carryOut(FlareLifecycle.resume(accepted, terms))

  def behavior: Behavior[Command] = Behaviors.receiveMessage[Command] {
    case Retire =>
      retired = true
      next
    case command =>
      try on(command)
      catch
        case NonFatal(defect) =>
          context.log.error(s"flare ${id.value}: a defect of the controller", defect)
          carryOut(life.step(FlareEvent.Broken(s"the controller failed: ${defect.getMessage}", now())))
      writer.flushIfAwaited()
      if !isStarting then giveBack()
      next
  }.receiveSignal { case (_, PostStop) =>
    asked.foreach(_.foreach(_.close())(using ExecutionContext.parasitic))
    Behaviors.same
  }

  private def next: Behavior[Command] =
    if retired && unstored.isEmpty then Behaviors.stopped else Behaviors.same

  private def on(command: Command): Unit = command match
    case placed: Placed => onPlaced(placed)
    case Reported(report: PackReport) =>
      happen(FlareEvent.Reported(report, now()))
      if report.isAnswered then answer(report)
    case Reported(FlareCleaned(_, error)) => happen(FlareEvent.Cleaned(error, now()))
    case InputsGranted(attempt, permit) =>
      if isPlacing(attempt) then load(attempt, permit) else permit.close()
    case InputsLoaded(attempt, loaded) => if isPlacing(attempt) then onInputs(loaded)
    case InvokerDown(invoker, reason) => happen(FlareEvent.InvokerLost(invoker, reason, now()))
    case Expired(timer, attempt) => happen(FlareEvent.Expired(timer, attempt, now()))
    case Cancel(by, replyTo) => onCancel(by, replyTo)
    case GroupEnded => happen(FlareEvent.GroupEnded(now()))
    case Occupied(true) => timers.cancel(FlareTimer.Deadline)
    case Occupied(false) => perform(FlareEffect.SetTimer(FlareTimer.Deadline))
    case Await(replyTo) => subscribers.waits(replyTo)
    case StoreAnswered(written) => onWritten(written)
    case WriteProgress =>
      if subscribers.ended.isEmpty then writer.save(life.record)
      writer.flush()
    case WriteAgain => writer.flush()
    case StoreOverdue => backoff.exhaust()
    case Retire | _: Begin => ()

  private def happen(event: FlareEvent): Unit = carryOut(life.step(event))

  private def onPlaced(placed: Placed): Unit =
    invokers = placed.invokers
    happen(FlareEvent.Placed(placed.attempt, placed.plan, now()))
    // found out before any invoker is asked for a pack: the slots just go back
    if backends.find(request.backend, request.chunkSize).isEmpty then
      happen(FlareEvent.Broken(s"the backend '${request.backend}' is not configured any more", now()))

  /** A flare that waits has nothing but its record: its cancellation is accepted once that is stored, or a
    * restart would run it.
    */
  private def onCancel(by: CancelledBy, replyTo: ActorRef[CancelOutcome]): Unit =
    if !life.cancellable then replyTo ! CancelOutcome.AlreadyEnded
    else
      val waits = life.stage == FlareLifecycle.Stage.Waiting || life.stage == FlareLifecycle.Stage.Placing
      if waits then subscribers.cancels(replyTo) else replyTo ! CancelOutcome.Accepted
      happen(FlareEvent.Cancel(now(), by))

  private def carryOut(step: FlareLifecycle.Step): Unit =
    life = step.state
    step.effects.foreach(perform)

  private def perform(effect: FlareEffect): Unit = effect match
    case FlareEffect.Store(flare, true) => writer.confirm(flare)
    case FlareEffect.Store(flare, false) =>
      writer.save(flare)
      writer.flush()
    case FlareEffect.Progress => progressSoon()
    case FlareEffect.StoreOutputs(pieces) => writer.outputs(pieces)
    case FlareEffect.StoreResults(results) =>
      writer.results(results)
      progressSoon()
    case FlareEffect.StoreLogs(texts) =>
      writer.logs(texts)
      progressSoon()
    case FlareEffect.StorePhases(marks) =>
      writer.phases(marks)
      progressSoon()
    case FlareEffect.ClearAttempt => writer.clear()
    case FlareEffect.ReadInputs => readInputs()
    case FlareEffect.Prepare(plan) => prepare(plan, readAgain.getOrElse(inputs))
    case FlareEffect.Start(endpoints) =>
      eachPack(life.progress.fold(Vector.empty)(_.plan.packs)) { pack =>
        StartPack(id, pack.pack, endpoints)
      }
    case FlareEffect.Abort(packs, failure) =>
      eachPack(life.progress.fold(Vector.empty)(p => packs.map(p.plan.packs(_)))) { pack =>
        AbortPack(id, pack.pack, failure)
      }
    case FlareEffect.Release(attempt, packs) =>
      scheduler ! GangScheduler.Release(id, attempt, packs.map(_ -> 0))
    case FlareEffect.Shrink(attempt, slots) => scheduler ! GangScheduler.Release(id, attempt, slots)
    case FlareEffect.Clean => clean()
    case FlareEffect.SetTimer(timer) =>
      timers.startSingleTimer(timer, Expired(timer, life.flare.attempt), settings.durationOf(timer, request))
    case FlareEffect.StopTimer(timer) => timers.cancel(timer)
    case FlareEffect.Requeue(attempt, avoid) =>
      scheduler ! GangScheduler.Requeue(id, attempt, request, avoid)
    case FlareEffect.Starts(outcomes) =>
      scheduler ! GangScheduler.Starts(id, life.flare.attempt, request.definition, outcomes)
    case FlareEffect.Open => scheduler ! GangScheduler.GroupOpened(id)
    case FlareEffect.LeaveQueue => scheduler ! GangScheduler.LeaveQueue(id)
    case FlareEffect.Note(message) => context.log.warn(message)
    case FlareEffect.Announce(flare) => announce(flare)
    case FlareEffect.Retire => scheduler ! GangScheduler.Ended(id)

  private def progressSoon(): Unit =
    if subscribers.ended.isEmpty && !timers.isTimerActive(WriteProgress) then
      timers.startSingleTimer(WriteProgress, WriteProgress, settings.progressInterval)

  private def eachPack(packs: Vector[PackPlacement])(command: PackPlacement => InvokerCommand): Unit =
    packs.foreach(pack => tell(pack.invoker, command(pack)))

  private def tell(invoker: InvokerId, command: InvokerCommand): Unit =
    invokers.get(invoker).foreach(_ ! InvokerRequest(command, reports))

  /** The outputs of a report are stored, or never will be: the pack may send more. */
  private def answer(report: PackReport): Unit =
    if writer.isGivenUp then answered(report.pack, report.invoker) else writer.awaited(report.pack)

  private def answered(pack: Int, invoker: InvokerId): Unit =
    tell(invoker, OutputStored(id, pack))

  private def answered(packs: Set[Int]): Unit =
    for pack <- packs; placed <- life.progress.flatMap(_.plan.packs.lift(pack)) do
      answered(pack, placed.invoker)

  // ---- Asking for packs ----------------------------------------------------------------------------------

  /** What is not at hand is read as soon as there is memory for it. */
  private def readInputs(): Unit =
    val attempt = life.flare.attempt
    inputs match
      case Inputs.OutOfLine(size) =>
        val permit = environment.inputs.acquire(size, request.definition.namespace)
        asked :+= permit
        permit.foreach(context.self ! InputsGranted(attempt, _))(using ExecutionContext.parasitic)
      case _ => happen(FlareEvent.InputsRead(attempt, now()))

  private def load(attempt: Int, permit: FairSemaphore.Permit): Unit =
    granted = Some(permit)
    val reading = Future(environment.store.inputs(id))(using
      environment.transfers.of(request.definition.namespace)
    )
    context.pipeToSelf(reading)(InputsLoaded(attempt, _))

  private def onInputs(loaded: Try[Option[Inputs]]): Unit =
    loaded match
      case Success(Some(inputs)) =>
        readAgain = Some(inputs)
        happen(FlareEvent.InputsRead(life.flare.attempt, now()))
        readAgain = None
      case missing =>
        missing.failed.foreach(context.log.error(s"the inputs of flare ${id.value} cannot be read", _))
        happen(FlareEvent.Broken("the flare's inputs cannot be read", now()))

  private def isPlacing(attempt: Int): Boolean =
    life.stage == FlareLifecycle.Stage.Placing && life.flare.attempt == attempt

  private def isStarting: Boolean =
    life.stage == FlareLifecycle.Stage.Placing || life.stage == FlareLifecycle.Stage.Starting

  /** What was stored need not be held here as well. */
  private def forgetInputs(): Unit =
    if inputs.length > Inputs.Small then inputs = Inputs.OutOfLine(inputs.length)
    life = life.withoutInputs

  private def giveBack(): Unit =
    granted.foreach(_.close())
    granted = None

  private def prepare(plan: Plan, inputs: Inputs): Unit =
    backends.find(request.backend, request.chunkSize).foreach { backend =>
      // each attempt proves itself by a secret of its own: a pack left of the last one cannot join
      val secret = Secret.random()
      eachPack(plan.packs)(pack => PreparePack(assignment(plan, pack, inputs, backend, secret)))
    }

  private def assignment(
      plan: Plan,
      pack: PackPlacement,
      inputs: Inputs,
      backend: BackendConfig,
      secret: Secret
  ) =
    PackAssignment(
      id,
      life.flare.attempt,
      request.definition,
      pack.pack,
      plan.packSizes,
      inputs match
        case Inputs.Each(values) => Inputs.Each(values.slice(pack.firstWorker, pack.firstWorker + pack.size))
        case shared =>
          shared
      ,
      backend,
      secret,
      life.deadline.fold(request.timeout * 1000)(_ - now()).max(0),
      request.memory,
      autostart = plan.packs.length == 1,
      request.group,
      request.egress
    )

  private def clean(): Unit =
    backends.find(request.backend, request.chunkSize).foreach { backend =>
      scheduler ! GangScheduler.CleanUp(id, backend, invokers.keys.toVector, reports)
    }

  private def onWritten(written: Written): Unit =
    writer.finished(written)
    written match
      case Written.Done(confirms, waiting, _) =>
        unstored = None
        backoff.reset()
        answered(waiting)
        stored(confirms)
      case Written.Failed(operation, cause, _) =>
        storeFailed(operation, cause)
        if writer.isGivenUp then answered(writer.dropAwaited())

  private def stored(confirms: Vector[(Int, FlareState)]): Unit =
    if confirms.nonEmpty then
      subscribers.answer(GangScheduler.Submitted.Accepted(life.record))
      forgetInputs()
      confirms.foreach((attempt, state) => happen(FlareEvent.Stored(attempt, state, now())))

  private def storeFailed(operation: String, cause: Throwable): Unit =
    backoff.begin()
    if cause.isInstanceOf[FlareTaken] then subscribers.supersede()
    val hopeless = subscribers.isSuperseded || !writer.isInserted || writer.isGivenUp || backoff.isExhausted
    if !hopeless then backoff.scheduleRetry()
    else
      if !writer.isGivenUp && !cause.isInstanceOf[PackageGone] then
        context.log.error(s"flare ${id.value}: the store failed during $operation", cause)
      subscribers.answer(cause match
        case _: PackageGone => GangScheduler.Submitted.Refused(Refusal.PackageGone)
        case _ => GangScheduler.Submitted.NotStored(operation, cause))
      // a flare that was never stored stays so: its submitter was told that there is none
      if subscribers.isSuperseded || !writer.isInserted then writer.giveUp()
      backoff.reset()
      // what is written from now on is the end: it is tried, too
      if !writer.isGivenUp then timers.startSingleTimer(WriteAgain, WriteAgain, settings.storeRetryPause)
      writer.dropConfirms()
      happen(FlareEvent.StoreFailed(operation, now()))
      unstored = subscribers.ended.filterNot(_ => writer.isGivenUp)
      unstored.foreach(writer.save)

  private def announce(flare: Flare): Unit =
    context.log.debug("flare {} has ended: {}", id.value, flare.state)
    timers.cancel(WriteProgress)
    subscribers.announce(flare)
