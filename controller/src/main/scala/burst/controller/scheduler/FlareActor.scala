package burst.controller.scheduler

import burst.controller.placement.{PackPlacement, Plan}
import scala.util.{Failure as Failed, Success, Try}
import org.apache.pekko.actor.typed.PostStop
import burst.node.FairSemaphore
import burst.controller.blob.BlobStoreException
import burst.controller.flare.{Flare, FlareState}
import burst.controller.store.{FlareTaken, StoreException, StoreProblem}
import burst.node.logs.LogIds.of
import burst.protocol.*
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import org.slf4j.LoggerFactory
import java.io.IOException
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.util.control.NonFatal

/** Carries one flare through its life: feeds events to [[FlareLifecycle]] and carries out the effects it
  * returns.
  *
  * Nothing is announced before it is stored: the submitter gets its answer, invokers are asked for packs and
  * callers that wait for the end are notified only when the write that records it has returned. A short flare
  * that is placed immediately takes two such writes, its insertion as `starting` and its results with the
  * final record; all other changes are gathered and written every `progress-interval`.
  *
  * A write that fails is retried, at longer and longer intervals, while the packs continue. If the store
  * fails for too long, so does the flare: its packs are told to end, and waiting callers are notified even
  * though the record could not be written. The actor keeps trying to store that record (if the controller
  * restarts first, it finds the flare unfinished and reports it failed, too). A flare that another controller
  * has taken over is let go immediately, with its packs, which that controller adopts: callers that wait for
  * it are referred to the store.
  */
object FlareActor:
  sealed trait Command

  /** The first message. Not part of the behavior, which would hold on to the flare's inputs for its whole
    * life.
    */
  final case class Begin(flare: Flare, arrival: Arrival) extends Command

  /** Slots are reserved for an attempt. `invokers` are those of the plan; with its `ticket` the flare returns
    * to its place in the queue if these turn out to have no room; `isWarm` if a pack with its program was
    * seen there.
    */
  final case class Placed(
      attempt: Int,
      plan: Plan,
      invokers: Map[InvokerId, ActorRef[InvokerRequest]],
      ticket: Option[QueueTicket] = None,
      isWarm: Boolean = false
  ) extends Command

  /** An invoker is back with these packs of an attempt that another scheduler placed. */
  final case class PacksHeld(
      invoker: InvokerId,
      ref: ActorRef[InvokerRequest],
      attempt: Int,
      packs: Set[PackId],
      unbroken: Boolean,
      since: Option[Timestamp]
  ) extends Command
  final case class InvokerDown(invoker: InvokerId, loss: InvokerLoss) extends Command

  /** Answered with `ended` if the flare has ended. */
  final case class Cancel(
      by: CancelledBy,
      replyTo: ActorRef[CancelOutcome],
      ended: CancelOutcome = CancelOutcome.AlreadyEnded
  ) extends Command

  /** The group it waits for has ended. */
  case object GroupEnded extends Command

  /** To a group: a flare runs on it, or none does any more. */
  final case class Occupied(busy: Boolean) extends Command

  /** The submission's answer has not arrived: it must go to `replyTo` now. */
  final case class SubmittedAgain(replyTo: ActorRef[GangScheduler.Submitted]) extends Command

  /** Answered with the flare once it has ended. */
  final case class Await(replyTo: ActorRef[GangScheduler.Awaited]) extends Command

  /** The scheduler has forgotten the flare. */
  case object Retire extends Command

  private final case class Reported(report: InvokerReport) extends Command
  private final case class Expired(timer: FlareTimer, attempt: Int) extends Command
  private final case class StoreAnswered(written: Written) extends Command
  private[scheduler] final case class InputsGranted(attempt: Int, permit: FairSemaphore.Permit)
      extends Command
  private[scheduler] final case class InputsLoaded(attempt: Int, inputs: Try[Option[Inputs]]) extends Command
  private[scheduler] final case class ReadInputsAgain(attempt: Int) extends Command
  private[scheduler] case object WriteProgress extends Command
  private[scheduler] case object AnswerDue extends Command
  private[scheduler] case object WriteAgain extends Command
  private[scheduler] case object StoreOverdue extends Command

  /** Not the context's own logger, which each actor would look up by walking through its stack. */
  private val log = LoggerFactory.getLogger(classOf[FlareActor])

  /** How long a submission whose answer is the flare's end may go unanswered. */
  val AnsweredWithin: FiniteDuration = 3.seconds

  /** How a flare arrives at its actor. */
  enum Arrival(val isNew: Boolean = false):
    /** Just accepted: it must be stored, and the submitter is answered then, or at the flare's end. A
      * submitter that gets no answer may ask again.
      */
    case Accepted(
        replyTo: ActorRef[GangScheduler.Submitted],
        placed: Option[Placed],
        isAnsweredAtEnd: Boolean = false,
        isAskedForAgain: Boolean = false
    ) extends Arrival(isNew = true)

    /** Found queued in the store. */
    case Recovered

    /** Found there although its insert failed: that it waits must be stored. */
    case InDoubt

    /** Found there as placed by another scheduler: its packs may still run. */
    case Adopted

  def apply(
      environment: FlareEnvironment,
      scheduler: ActorRef[GangScheduler.Command]
  ): Behavior[Command] =
    Behaviors.setup { context =>
      Behaviors.withTimers { timers =>
        Behaviors.receiveMessagePartial:
          case Begin(flare, arrival) =>
            new FlareActor(flare, arrival, environment, scheduler, context, timers).behavior
      }
    }

private final class FlareActor(
    accepted: Flare,
    arrival: FlareActor.Arrival,
    environment: FlareEnvironment,
    scheduler: ActorRef[GangScheduler.Command],
    context: ActorContext[FlareActor.Command],
    timers: TimerScheduler[FlareActor.Command]
):
  import FlareActor.*
  import environment.{backends, settings}

  private val now = environment.clock.steady
  // Used in the constructor only: fields that a method uses would be retained, with the inputs.
  private val id = accepted.id
  private val request = accepted.request.withoutInputs

  private val inputs =
    FlareInputs(accepted.request.inputs, id, request.definition.namespace, environment, context)

  /** The variables of the programs, while the packs are being requested. */
  private var variables = Environment.Empty

  private val terms = settings.terms(backends.needsCleaning(request.backend))
  private val reports = context.messageAdapter[InvokerReport](Reported(_))
  private val packs = PackCommands(id, request, reports)
  private val acknowledgements = ReportAcknowledgements(packs, areKept = environment.adoption.isDefined)
  private val storing =
    val writer = FlareWriter(
      environment.store,
      environment.spool,
      id,
      alreadyStored = !arrival.isNew,
      settings,
      cost => environment.logRate.take(request.definition.namespace, cost),
      environment.blocking,
      environment.transfers.of(request.definition.namespace),
      environment.transfers.gathering(request.definition.namespace),
      written => context.self ! StoreAnswered(written)
    )
    FlareStoring(id, request.origin, writer, settings, timers, log, environment.health)
  private val subscribers = FlareSubscribers()
  private val acceptance =
    FlareAcceptance(arrival, request.isUntoldBeforeItsEnd, storing, subscribers, timers, environment)

  private val times = FlareTimes(
    accepted,
    environment.metrics.of(request.definition),
    FlareSpans(id, request, environment.spans),
    now
  )

  private var life = FlareLifecycle.queued(accepted, terms)
  private var retired = false

  private val inlineResults = InlineResults(request)

  /** The ticket of the last attempt. */
  private var ticket = Option.empty[QueueTicket]

  // Not a method: what it uses would be retained for the actor's life.
  try
    arrival match
      case Arrival.Accepted(_, placed, _, _) =>
        applyStep(FlareLifecycle.accept(accepted, terms))
        placed.foreach(onPlaced)
        storing.flushIfAwaited()
      case Arrival.Recovered => applyStep(FlareLifecycle.resume(accepted, terms))
      case Arrival.InDoubt => applyStep(FlareLifecycle.requeue(accepted, terms))
      case Arrival.Adopted => applyStep(FlareLifecycle.adopt(accepted, terms, now()))
  catch case NonFatal(defect) => onDefect(defect)

  def behavior: Behavior[Command] = Behaviors.receiveMessage[Command] {
    case Retire =>
      retired = true
      next
    case command =>
      try on(command)
      catch case NonFatal(defect) => onDefect(defect)
      storing.flushIfAwaited()
      if !isStarting then inputs.giveBack()
      acknowledgements.ended(life)
      next
  }.receiveSignal { case (_, PostStop) =>
    inputs.close()
    Behaviors.same
  }

  private def onDefect(defect: Throwable): Unit =
    log.atError().of(id, request.origin).setCause(defect).log("a defect of the controller")
    break(Breakage.Defect(defect))

  private def next: Behavior[Command] =
    if retired && !storing.hasUnstoredEnd then Behaviors.stopped else Behaviors.same

  private def on(command: Command): Unit = command match
    case placed: Placed => onPlaced(placed)
    case Reported(report: PackReport) =>
      // Before its slot goes to another call that would join the container.
      if hasSpent(report) then scheduler ! GangScheduler.ContainerSpent(id, report.attempt)
      happen(FlareEvent.Reported(report, now()))
      if report.attempt == life.flare.attempt then
        for reports <- report.number do
          storing.told(attempt = report.attempt, pack = report.pack, reports = reports)
      if report.isAnswered then answer(report)
    case Reported(FlareCleaned(_, error)) => happen(FlareEvent.Cleaned(error, now()))
    case InputsGranted(attempt, permit) =>
      if isPlacing(attempt) then inputs.load(attempt, permit) else permit.close()
    case InputsLoaded(attempt, loaded) => if isPlacing(attempt) then onInputs(loaded)
    case ReadInputsAgain(attempt) =>
      if isPlacing(attempt) && inputs.isAtHand(attempt) then happen(FlareEvent.InputsRead(attempt, now()))
    case PacksHeld(invoker, ref, attempt, held, unbroken, since) =>
      if attempt == life.flare.attempt then
        packs.reach(invoker, ref)
        happen(FlareEvent.PacksHeld(invoker, held, unbroken, since, now()))
      else
        held.foreach(pack =>
          ref ! InvokerRequest(
            PackStored(id, attempt = attempt, pack = pack, reports = 0, over = true),
            reports
          )
        )
    case InvokerDown(invoker, loss) => happen(FlareEvent.InvokerLost(invoker, loss, now()))
    // Memory is not the reason that the inputs are missing.
    case Expired(FlareTimer.Inputs, attempt) if isPlacing(attempt) && inputs.hasFailed(attempt) =>
      break(Breakage.InputsUnreadable)
    case Expired(timer, attempt) => happen(FlareEvent.Expired(timer, attempt, now()))
    case cancel: Cancel => onCancel(cancel)
    case GroupEnded => happen(FlareEvent.GroupEnded(now()))
    case Occupied(true) => timers.cancel(FlareTimer.Deadline)
    case Occupied(false) => perform(FlareEffect.SetTimer(FlareTimer.Deadline))
    case SubmittedAgain(replyTo) => acceptance.submittedAgain(replyTo, life)
    case AnswerDue => acceptance.answerNow(life)
    case Await(replyTo) => subscribers.waits(replyTo)
    case StoreAnswered(written) => onWritten(written)
    case WriteProgress =>
      if subscribers.ended.isEmpty then storing.save(life.record)
      storing.flush()
    case WriteAgain => storing.flush()
    case StoreOverdue => storing.overdue()
    case Retire | _: Begin => ()

  private def happen(event: FlareEvent): Unit = applyStep(life.step(event))
  private def break(why: Breakage): Unit = happen(FlareEvent.Broken(why, now()))

  private def onPlaced(placed: Placed): Unit =
    packs.reach(placed.invokers)
    ticket = placed.ticket
    acceptance.placed(placed)
    happen(FlareEvent.Placed(placed.attempt, placed.plan, now()))
    if acceptance.takeDeferred() then
      happen(FlareEvent.Stored(life.flare.attempt, life.flare.state, now()))
    // detected before any invoker is asked for a pack: the slots are simply released
    if backends.find(request.backend, request.chunkSize).isEmpty then
      break(Breakage.BackendGone(request.backend))

  /** A waiting flare exists only as its record: its cancellation is accepted once that is stored, as a
    * restart would run the flare otherwise.
    */
  private def onCancel(cancel: Cancel): Unit =
    import cancel.{by, replyTo}
    if !life.cancellable then replyTo ! cancel.ended
    else
      val waits = life.stage == FlareLifecycle.Stage.Waiting || life.stage == FlareLifecycle.Stage.Placing
      if waits then subscribers.cancels(replyTo)
      else if environment.adoption.isEmpty then replyTo ! CancelOutcome.Accepted
      happen(FlareEvent.Cancel(now(), by))
      // Another scheduler that takes over must know of it.
      if !waits && environment.adoption.isDefined then
        subscribers.cancelsOnceStored(replyTo)
        storing.confirm(life.record)
      // Callers that look at the group now must see that it is closing.
      else if !waits && request.isGroup then context.self ! WriteProgress

  private def applyStep(step: FlareLifecycle.Step): Unit =
    if step.state.flare.attempt != life.flare.attempt then acknowledgements.left(life)
    life = step.state
    times.follow(life)
    step.effects.foreach(perform)

  private def perform(effect: FlareEffect): Unit = effect match
    case FlareEffect.Store(flare, true) => acceptance.confirm(flare, life)
    case FlareEffect.Store(flare, false) =>
      storing.save(flare)
      storing.flush()
    case FlareEffect.Progress => progressSoon()
    case FlareEffect.StoreOutputs(pieces) => storing.outputs(pieces)
    case FlareEffect.StoreResults(results) =>
      storing.results(results)
      inlineResults.add(results)
      progressSoon()
    case FlareEffect.StoreLogs(texts) =>
      storing.logs(texts)
      progressSoon()
    case FlareEffect.StorePhases(marks) =>
      storing.phases(marks)
      progressSoon()
    case FlareEffect.ClearAttempt =>
      storing.clear()
      inlineResults.clear()
    case FlareEffect.ReadInputs =>
      val attempt = life.flare.attempt
      environment.variables(request) match
        case Left(secret) => break(Breakage.SecretUnopened(secret))
        case Right(opened) =>
          variables = opened
          if inputs.isAtHand(attempt) then happen(FlareEvent.InputsRead(attempt, now()))
    case FlareEffect.Prepare(plan) => prepare(plan)
    case FlareEffect.Adopt(which) => packs.adopt(placed(which), life.flare.attempt)
    case FlareEffect.Start(endpoints) => packs.start(placements, endpoints)
    case FlareEffect.Abort(which, failure) => packs.abort(placed(which), failure)
    case FlareEffect.Release(attempt, which) =>
      scheduler ! GangScheduler.Release(id, attempt, which.map(_ -> 0))
    case FlareEffect.Shrink(attempt, slots) => scheduler ! GangScheduler.Release(id, attempt, slots)
    case FlareEffect.Clean => clean()
    case FlareEffect.SetTimer(timer) =>
      timers.startSingleTimer(timer, Expired(timer, life.flare.attempt), durationOf(timer))
    case FlareEffect.StopTimer(timer) => timers.cancel(timer)
    case FlareEffect.Requeue(attempt, avoid, noRoom) =>
      // a flare that only found no room keeps its position in the queue
      scheduler ! GangScheduler.Requeue(id, attempt, request, avoid, noRoom, noRoom.flatMap(_ => ticket))
    case FlareEffect.Starts(outcomes) =>
      scheduler ! GangScheduler.Starts(id, life.flare.attempt, request.definition, outcomes)
    case FlareEffect.Open => scheduler ! GangScheduler.GroupOpened(id, life.flare.attempt)
    case FlareEffect.LeaveQueue => scheduler ! GangScheduler.LeaveQueue(id)
    case FlareEffect.Note(message) =>
      // Users write the messages of failures: none may look like a line of the log.
      log.atWarn().of(id, request.origin).log(message.linesIterator.mkString(" "))
    case FlareEffect.Announce(flare) => announce(flare)
    case FlareEffect.Retire => scheduler ! GangScheduler.Ended(id)

  private def progressSoon(): Unit =
    if subscribers.ended.isEmpty && !timers.isTimerActive(WriteProgress) then
      timers.startSingleTimer(WriteProgress, WriteProgress, settings.progressInterval)

  private def placements: Vector[PackPlacement] = life.progress.fold(Vector.empty)(_.plan.packs)
  private def placed(which: Vector[PackId]): Vector[PackPlacement] = which.flatMap(placements.lift)

  /** A pack that waits for its outputs to be gathered may send more once they are, or if they never will be.
    */
  private def answer(report: PackReport): Unit =
    if storing.isGivenUp then answered(Set(report.pack)) else storing.awaited(report.pack)

  private def answered(which: Set[PackId]): Unit =
    packs.outputStored(placed(which.toVector))

  private def onInputs(loaded: Try[Option[Inputs]]): Unit =
    loaded match
      case Success(Some(read)) =>
        inputs.loaded(read)
        happen(FlareEvent.InputsRead(life.flare.attempt, now()))
        inputs.forgetLarge()
      // The store may recover before the time for reading inputs is over.
      case Failed(cause @ (_: StoreException | _: BlobStoreException | _: IOException)) =>
        val attempt = life.flare.attempt
        val again = ReadInputsAgain(attempt)
        timers.startSingleTimer(again, again, settings.storeRetryPause * 5)
        if inputs.failed(attempt) then
          log
            .atError()
            .of(id, request.origin)
            .setCause(cause)
            .log("{}; trying again", Breakage.InputsUnreadable.message)
      case missing =>
        missing.failed.foreach(
          log.atError().of(id, request.origin).setCause(_).log(Breakage.InputsUnreadable.message)
        )
        break(Breakage.InputsUnreadable)

  /** Whether the call did not end well in a container that calls share, or was turned away by it. */
  private def hasSpent(report: PackReport): Boolean =
    def began = life.progress.exists(_.workers.exists(_.started.isDefined)) ||
      report.events.exists(_.isInstanceOf[PackEvent.WorkerStarted])
    report.attempt == life.flare.attempt && placements.lift(report.pack).exists(_.shared.isDefined) &&
    report.events.exists:
      case PackEvent.PackEnded(false, why, _, _) => why.exists(_.kind == FailureKind.PackLost) || began
      case _ => false

  private def isPlacing(attempt: Int): Boolean =
    life.stage == FlareLifecycle.Stage.Placing && life.flare.attempt == attempt

  private def isStarting: Boolean =
    life.stage == FlareLifecycle.Stage.Placing || life.stage == FlareLifecycle.Stage.Starting

  private def prepare(plan: Plan): Unit =
    backends.find(request.backend, request.chunkSize).foreach { backend =>
      val timeLeft = life.deadline.fold(request.timeout)(_ - now()).max(Duration.Zero)
      val invocation = environment.invocations.of(id, request, deadline = now() + timeLeft)
      packs.prepare(plan, life.flare.attempt, inputs.current, backend, timeLeft, variables, invocation)
    }
    variables = Environment.Empty

  private def clean(): Unit =
    backends.find(request.backend, request.chunkSize).foreach { backend =>
      scheduler ! GangScheduler.CleanUp(id, backend, packs.invokers, reports)
    }

  private def onWritten(written: Written): Unit = storing.finished(written) match
    case FlareStoring.Outcome.Stored(confirms, waiting, told) =>
      answered(waiting)
      stored(confirms)
      acknowledgements.stored(life, told)
    case FlareStoring.Outcome.Failed(operation, taken: FlareTaken, _, _) if environment.adoption.isDefined =>
      letGo(operation, taken)
    case FlareStoring.Outcome.Gathered(packs, storageFailure) =>
      if storageFailure != life.storageFailure then happen(FlareEvent.Gathered(storageFailure))
      answered(packs)
    case FlareStoring.Outcome.TriedAgain => ()
    case FlareStoring.Outcome.Failed(operation, cause, mayBeThere, lost) =>
      if mayBeThere then scheduler ! GangScheduler.InDoubt(id, request, life.isCancelled)
      acceptance.failed(operation, cause)
      happen(FlareEvent.StoreFailed(StorageFailure(StoreProblem.of(cause), lost), now()))
      storing.failedWith(subscribers.ended)
      if storing.isGivenUp then answered(storing.dropAwaited())

  private def stored(confirms: Vector[(Int, FlareState)]): Unit =
    if confirms.nonEmpty then
      subscribers.cancelStored()
      subscribers.accept(life.record)
      inputs.forgetLarge()
      life = life.withoutInputs
      confirms.foreach((attempt, state) => happen(FlareEvent.Stored(attempt, state, now())))

  /** The scheduler that has taken over continues the flare, with its packs. */
  private def letGo(operation: String, taken: FlareTaken): Unit =
    acceptance.taken(operation, taken, life)
    timers.cancelAll()
    scheduler ! GangScheduler.Ended(id)

  /** A group's deadline is its time without a flare; any other flare's is the one it was given. */
  private def durationOf(timer: FlareTimer): FiniteDuration = timer match
    case FlareTimer.Deadline if !request.isGroup && life.deadline.isDefined =>
      life.deadline.fold(Duration.Zero)(at => (at - now()).max(Duration.Zero))
    case _ => settings.durationOf(timer, request)

  private def announce(flare: Flare): Unit =
    log.atDebug().of(id, request.origin).log("a flare has ended: {}", flare.state)
    timers.cancel(WriteProgress)
    // Nothing is known here of a flare that another controller has, or that was never stored.
    if !storing.isGivenUp then times.ended(flare)
    subscribers.announce(flare.copy(request = flare.request.withoutInputs), inlineResults.of(flare))
