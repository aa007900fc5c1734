package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareState, WorkerRecord, WorkerState}
import burst.controller.placement.Plan
import burst.protocol.{Failure, FailureKind, InvokerId, Operation, PackId, PackReport, Timestamp}

import FlareEffect.*
import FlareLifecycle.{FinishTimers, Stage, Step}

/** A flare's life as a pure state machine: state and event in, state and effects out. [[FlareActor]] carries
  * out the effects and turns their results into events.
  *
  * ==States==
  * {{{
  *              Placed           InputsRead          all packs ready
  *  Waiting ─────────────▶ Placing ───────▶ Starting ───────────────▶ Running
  *     │  ▲                   │                │                         │  every pack ended
  *     │  │ retry             │ first cause    │ first cause             ├──────────┐
  *     │  │                   ▼                ▼                         ▼          ▼
  *     │  └───────────────────┼──────────── Stopping ◀───────────────────┘       Cleaning
  *     │ cancel, wait over    │                │ every pack ended, or given up      │
  *     ▼                      ▼                ▼                                    ▼
  *  Closing ◀─────────────────┴────────── (Cleaning) ────────────────────────▶  Closing ──▶ Ended
  * }}}
  *   - ''Waiting'' (`queued`): in the scheduler's queue.
  *   - ''Placing'': every slot is reserved; the record is being stored as `starting`, and then the packs'
  *     inputs are read; large ones wait for memory (`Inputs` runs). No invoker knows of it yet, so a failure
  *     here only releases the slots, and this time counts neither against an invoker nor against the flare.
  *     `placing` is never stored: that write already records the next state.
  *   - ''Starting'' (`starting`): packs are requested, `Start` and `Deadline` run.
  *   - ''Running'' (`running`): every pack is ready. The record is stored soon, not before the workers start:
  *     a restarting controller treats `starting` and `running` alike.
  *   - ''Stopping'': the first cause is known; every pack that has not ended was told to end.
  *   - ''Cleaning'': every pack has ended; the backend is cleaned (backends that keep nothing skip this).
  *   - ''Closing'': the final record is being stored.
  *   - ''Ended'': announced. Packs that were given up on may still hold slots: each pack's are released when
  *     it reports its end or its invoker is lost, not before, as it may be alive; then the actor retires.
  *
  * ==Rules==
  *   - At the deadline no worker is blamed yet: which of the unfinished workers ran, and which waited for
  *     them, is known when the packs have ended. If no worker ran because packs waited for outputs that
  *     cannot be kept, the failure is the platform's.
  *   - The first cause wins. A `peer-failed` is not a cause while the peer's own failure may still arrive: it
  *     starts `PeerGrace`, and becomes the cause, provisionally, when that expires; a later report that
  *     explains it ([[FlareEnding.revealing]]), or the loss of an invoker, replaces it.
  *   - Slots of a pack are released when it has ended, each pack once, in any stage of the flare; before
  *     that, those of workers that have ended, as the pack's invoker reports.
  *   - Results that arrive before the last pack has ended count, even after the cause.
  *   - A retry needs every pack to have ended and the backend to be clean: two attempts never overlap. So
  *     before a retry the flare waits for packs as long as their machine may be lost without this being
  *     known, and as long again for a slow clean-up (both by `Loss`).
  *   - Reports of other attempts change nothing.
  *   - A group runs once its packs are ready, until a cause ends it: one of its packs has ended, it was
  *     closed (cancelled), or it had no flare for too long (its `Deadline`). Its workers never report.
  */
final case class FlareLifecycle private (
    flare: Flare,
    stage: Stage,
    progress: Option[AttemptProgress],
    cause: Option[Cause],
    suspicion: Option[Failure],
    deadline: Option[Timestamp],
    cancelled: Boolean,
    terms: FlareLifecycle.Terms,
    awaitsLoss: Boolean = false,
    unplaced: Int = 0,
    isCleanLate: Boolean = false,
    storageFailure: Option[StorageFailure] = None
):
  /** The flare as it is stored and shown. */
  def record: Flare =
    val now = progress.fold(flare)(p => flare.copy(packs = p.packs, workers = p.workers))
    cancellation.fold(now)(why => now.copy(error = Some(why.failure)))

  /** The cancellation that is ending the flare, if any: another scheduler that takes over must continue it.
    */
  private def cancellation: Option[Cause] = stage match
    case Stage.Stopping | Stage.Cleaning =>
      cause
        .filter(_.state == FlareState.Cancelled)
        .orElse(Option.when(cancelled)(FlareEnding.cancelled(CancelledBy.User, flare.request.isGroup)))
    case _ => None

  /** Once stored, the inputs are read again when they are needed. */
  def withoutInputs: FlareLifecycle = copy(flare = flare.copy(request = flare.request.withoutInputs))

  /** Whether it was cancelled and will not run again. */
  def isCancelled: Boolean = cancelled || cause.exists(_.state == FlareState.Cancelled)

  /** Whether a cancellation still makes a difference. */
  def cancellable: Boolean = stage match
    case Stage.Waiting | Stage.Placing | Stage.Starting | Stage.Running | Stage.Stopping => true
    case Stage.Cleaning => willRetry
    case Stage.Closing | Stage.Ended => false

  def step(event: FlareEvent): Step = event match
    case FlareEvent.Placed(attempt, plan, at) => onPlaced(attempt, plan, at)
    case FlareEvent.Stored(attempt, state, at) => onStored(attempt, state, at)
    case FlareEvent.InputsRead(attempt, at) =>
      if stage == Stage.Placing && attempt == flare.attempt then begin(at) else Step(this)
    case FlareEvent.StoreFailed(why, at) =>
      lose(why, at).andThen(_.onBroken(FlareEnding.notStored(why), at))
    case FlareEvent.Gathered(storageFailure) => Step(copy(storageFailure = storageFailure))
    case FlareEvent.Broken(why, at) => onBroken(FlareEnding.internal(why.message), at)
    case FlareEvent.Reported(report, at) => onReport(report, at)
    case FlareEvent.InvokerLost(invoker, loss, at) =>
      progress.fold(Step(this))(p => absorbed(p.invokerLost(invoker, loss), at))
    case FlareEvent.PacksHeld(invoker, packs, unbroken, since, at) =>
      val isPlacedSince = since.exists(begin => flare.placed.exists(_ >= begin))
      onPacksHeld(invoker, packs, unbroken || isPlacedSince, at)
    case FlareEvent.Cancel(at, by) => onCancel(at, by)
    case FlareEvent.GroupEnded(at) =>
      if stage == Stage.Waiting || stage == Stage.Placing then stop(FlareEnding.groupEnded, at)
      else Step(this)
    case FlareEvent.Expired(timer, attempt, at) =>
      if attempt == flare.attempt then onExpired(timer, at) else Step(this)
    case FlareEvent.Cleaned(error, at) =>
      if stage == Stage.Cleaning then onCleaned(error, at) else Step(this)

  private def onPlaced(attempt: Int, plan: Plan, at: Timestamp): Step =
    if stage == Stage.Waiting && attempt == flare.attempt then
      val begun = AttemptProgress.begin(plan, terms.outputLimit)
      val placed = copy(
        stage = Stage.Placing,
        progress = Some(begun),
        flare =
          flare.copy(state = FlareState.Starting, placed = Some(at), granularity = Some(plan.granularity))
      )
      Step(placed, StopTimer(FlareTimer.Queue), Store(placed.record, confirm = true))
    else if progress.isDefined && attempt == flare.attempt then Step(this)
    else Step(this, Release(attempt, plan.packs.map(_.pack)))

  private def onStored(attempt: Int, state: FlareState, at: Timestamp): Step = stage match
    case Stage.Placing if attempt == flare.attempt && state == FlareState.Starting =>
      Step(this, SetTimer(FlareTimer.Inputs), ReadInputs)
    case Stage.Closing if state.isFinal => end(at)
    case _ => Step(this)

  /** The packs' inputs are available: the packs are requested, and the flare's time begins. */
  private def begin(at: Timestamp): Step =
    Step(copy(stage = Stage.Starting, deadline = Some(at + flare.request.timeout)))
      .add(Vector(StopTimer(FlareTimer.Inputs), SetTimer(FlareTimer.Start)))
      .add(if flare.request.isGroup then Vector.empty else Vector(SetTimer(FlareTimer.Deadline)))
      // Last: the receivers may rely on the time having begun.
      .add(progress.map(p => Prepare(p.plan)).toVector)

  /** Announces the end, even if the record could not be stored, so that nobody waits for ever. */
  private def end(at: Timestamp): Step =
    val ended = copy(stage = Stage.Ended)
    val rest = if progress.forall(_.open == 0) then Vector(Retire) else Vector.empty
    Step(ended, Announce(record.copy(ended = flare.ended.orElse(Some(at))))).add(rest)

  /** Gives up the outputs of these workers. */
  private def lose(why: StorageFailure, at: Timestamp): Step =
    progress.filter(_ => why.workers.nonEmpty).fold(Step(this)): p =>
      val (left, results) = p.losing(why, at)
      Step(copy(progress = Some(left), storageFailure = None), StoreResults(results))

  private def onBroken(why: Cause, at: Timestamp): Step = stage match
    case Stage.Waiting | Stage.Placing | Stage.Starting | Stage.Running =>
      stop(why, at)
    case Stage.Cleaning if isCleanLate => withoutRetry(at)
    case Stage.Stopping | Stage.Cleaning =>
      // Whether its workers ended in time is no longer known.
      val known = cause.map(_.copy(provisional = false))
      Step(copy(cause = known.orElse(Some(why)), cancelled = true))
    case Stage.Closing =>
      val failed =
        if flare.state != FlareState.Succeeded then this
        else copy(flare = flare.copy(state = why.state, error = Some(why.failure)))
      failed.end(at)
    case Stage.Ended => Step(this)

  private def onReport(report: PackReport, at: Timestamp): Step =
    // while placing, no pack was requested: such a report is a mistake
    val ours = report.attempt == flare.attempt && report.flareId == flare.id && stage != Stage.Placing
    progress.filter(_ => ours).fold(Step(this)) { p =>
      absorbed(p.absorb(report, cause), at)
    }

  private def absorbed(news: Absorbed, at: Timestamp): Step = stage match
    case Stage.Starting | Stage.Running | Stage.Stopping | Stage.Placing =>
      val effects =
        Vector(
          Option.when(news.pieces.nonEmpty)(StoreOutputs(news.pieces)),
          Option.when(news.results.nonEmpty)(StoreResults(news.results)),
          Option.when(news.logs.nonEmpty)(StoreLogs(news.logs)),
          Option.when(news.phases.nonEmpty)(StorePhases(news.phases)),
          Option.when(news.shrunk.nonEmpty)(Shrink(flare.attempt, news.shrunk)),
          // a placing flare releases all its slots together when it stops: none of its packs was requested
          Option.when(news.ended.nonEmpty && stage != Stage.Placing)(Release(flare.attempt, news.ended)),
          Option.when(progress.exists(_.workers ne news.progress.workers))(Progress),
          Option.when(cause.isEmpty && stage == Stage.Starting)(StartOutcome.ofFailed(news))
            .filter(_.nonEmpty)
            .map(Starts(_))
        ).flatten
      Step(copy(progress = Some(news.progress))).add(effects).andThen(_.weigh(news.failures, at))
    case Stage.Closing | Stage.Ended if news.ended.nonEmpty =>
      // packs that were given up on: all that still matters is their slots, and what they left on the backend
      val rest = progress.map(p => p.copy(stages = news.progress.stages, open = news.progress.open))
      val drained = rest.exists(_.open == 0)
      Step(copy(progress = rest), Release(flare.attempt, news.ended))
        .add(if drained && terms.cleans then Vector(Clean) else Vector.empty)
        .add(if drained && stage == Stage.Ended then Vector(Retire) else Vector.empty)
    case _ => Step(this)

  /** An invoker is back with its packs of this flare, which another scheduler placed. */
  private def onPacksHeld(invoker: InvokerId, packs: Set[PackId], unbroken: Boolean, at: Timestamp): Step =
    progress.fold(Step(this)): p =>
      val (held, missing) = p.plan.packs
        .filter(pack => pack.invoker == invoker && p.stages(pack.pack) != PackStage.Ended)
        .partition(pack => packs(pack.pack))
      val all = held.map(_.pack)
      val again = cause.map(why => Abort(all, why.failure))
      Step(this, Adopt(all)).add(again.toVector).andThen(
        _.absorbed(p.missing(missing, FlareEnding.notKept(invoker, unbroken && flare.started.isEmpty)), at)
      )

  /** Decides whether the failures end the flare, and whether the packs are all ready or have all ended. */
  private def weigh(failures: Vector[Failure], at: Timestamp): Step = cause match
    case Some(known) =>
      val replaceable = known.provisional && known.state == FlareState.Failed
      val better = if replaceable then FlareEnding.revealing(failures) else None
      val weighed = copy(cause = better.map(causeOf(_, at)).orElse(cause))
      if weighed.stage == Stage.Stopping && weighed.allEnded then weighed.finish(at) else Step(weighed)
    case None =>
      FlareEnding.decisive(failures) match
        case Some(failure) => stop(causeOf(failure, at), at)
        case None =>
          val suspected =
            if suspicion.isEmpty && failures.nonEmpty then
              Step(copy(suspicion = failures.headOption), SetTimer(FlareTimer.PeerGrace))
            else Step(this)
          suspected.andThen(_.started(at)).andThen(now => if now.allEnded then now.finish(at) else Step(now))

  /** Turns a worker's or pack's failure into the flare's cause. A worker that reached the flare's deadline by
    * its own clock has timed out together with the flare.
    */
  private def causeOf(failure: Failure, at: Timestamp, provisional: Boolean = false): Cause =
    if failure.kind == FailureKind.Timeout && deadline.exists(at >= _) then
      progress.fold(Cause(FlareState.TimedOut, failure))(FlareEnding.timedOut(_, flare.request.timeout))
    else Cause(FlareState.Failed, failure, provisional)

  /** When the flare started. The report of its end may include that of its start, whose time the first worker
    * takes from its own clock.
    */
  private def startOf(progress: AttemptProgress, at: Timestamp): Timestamp =
    val asked = deadline.fold(at)(_ - flare.request.timeout)
    progress.workers.iterator.flatMap(_.started).minOption.fold(at)(_.max(asked).min(at))

  private def started(at: Timestamp): Step =
    progress match
      case Some(p) if stage == Stage.Starting && p.allReady =>
        val running =
          copy(
            stage = Stage.Running,
            flare =
              flare.copy(state = FlareState.Running, started = flare.started.orElse(Some(startOf(p, at))))
          )
        // a flare of one pack starts on its own, and a group runs nothing
        val start =
          if flare.request.isGroup then Vector(Open)
          else if p.stages.length > 1 then Vector(Start(p.endpoints))
          else Vector.empty
        // nothing was started on a group's packs
        val told =
          if flare.request.memberOf.isEmpty then Vector(Starts(StartOutcome.ofStarted(p))) else Vector.empty
        Step(running).add(start).add(Vector(StopTimer(FlareTimer.Start), Progress)).add(told)
      case _ => Step(this)

  private def allEnded: Boolean = progress.forall(_.open == 0)

  private def onCancel(at: Timestamp, by: CancelledBy): Step = stage match
    case Stage.Waiting | Stage.Placing | Stage.Starting | Stage.Running =>
      stop(FlareEnding.cancelled(by, flare.request.isGroup), at)
    case Stage.Stopping if awaitsLoss => copy(cancelled = true).giveUp(at)
    case Stage.Cleaning if isCleanLate => withoutRetry(at)
    case Stage.Stopping | Stage.Cleaning => Step(copy(cancelled = true))
    case Stage.Closing | Stage.Ended => Step(this)

  private def onExpired(timer: FlareTimer, at: Timestamp): Step = (timer, stage) match
    case (FlareTimer.Queue, Stage.Waiting) =>
      stop(FlareEnding.waitedTooLong(flare.request.size, terms.queueLimit), at)
    case (FlareTimer.Inputs, Stage.Placing) => stop(FlareEnding.inputsTooSlow(terms.queueLimit), at)
    case (FlareTimer.Start, Stage.Starting) =>
      val late = progress.fold(Vector.empty)(StartOutcome.ofLate(_, terms.startLimit))
      Step(this, Starts(late)).andThen(_.stopWith(p => FlareEnding.startTooSlow(p, terms.startLimit), at))
    case (FlareTimer.Deadline, Stage.Starting | Stage.Running) =>
      stopWith(
        p => flare.request.idleTimeout.fold(FlareEnding.timedOut(p, flare.request.timeout))(FlareEnding.idle),
        at
      )
    case (FlareTimer.PeerGrace, Stage.Starting | Stage.Running) =>
      suspicion.fold(Step(this))(f => stop(causeOf(f, at, provisional = true), at))
    case (FlareTimer.Abort, Stage.Stopping) if wantsRetry =>
      Step(copy(awaitsLoss = true), SetTimer(FlareTimer.Loss))
    case (FlareTimer.Abort | FlareTimer.Loss, Stage.Stopping) => giveUp(at)
    case (FlareTimer.Clean, Stage.Cleaning) if willRetry && !isCleanLate =>
      // Invokers may take longer to clean than an end may be delayed: a retry is worth the wait.
      Step(copy(isCleanLate = true), SetTimer(FlareTimer.Loss))
    case (FlareTimer.Clean, Stage.Cleaning) => uncleaned(terms.cleanLimit, at)
    case (FlareTimer.Loss, Stage.Cleaning) if isCleanLate => uncleaned(terms.lateCleanLimit, at)
    case _ => Step(this)

  private def uncleaned(limit: String, at: Timestamp): Step =
    val message = s"the backend was not cleaned within $limit"
    onCleaned(Some(Failure(FailureKind.Backend, message, operation = Some(Operation.CleanUp))), at)

  /** The flare was waiting for the clean-up only because of the retry; the clean-up itself continues. */
  private def withoutRetry(at: Timestamp): Step = copy(cancelled = true).onCleaned(None, at)

  /** Gives up on packs that do not end. */
  private def giveUp(at: Timestamp): Step =
    // a cancelled or timed-out worker is shown as that, whatever became of its pack
    val told = if cause.exists(_.state == FlareState.Failed) then progress.map(_.givenUp(terms.abortLimit))
    else progress
    val silent = progress.fold("")(_.openPacks.mkString(", "))
    val note = s"packs $silent of a flare did not end within ${terms.abortLimit}; " +
      "their slots stay reserved until they report or their invoker is lost"
    // Its peers have reported the pack lost: that the pack itself is silent says more.
    val lost =
      for
        known <- cause if known.provisional && known.failure.kind == FailureKind.PeerFailed
        silent <- told.flatMap(p => p.openPacks.headOption.flatMap(p.errors.get))
      yield FlareEnding.silent(silent, known.failure)
    Step(this, Note(note)).andThen(_.copy(progress = told, cause = lost.orElse(cause)).finish(at))

  private def stopWith(why: AttemptProgress => Cause, at: Timestamp): Step =
    progress.fold(Step(this))(p => stop(why(p), at))

  /** The cause is known: ends every pack that has not ended. */
  private def stop(why: Cause, at: Timestamp): Step = stage match
    case Stage.Waiting =>
      Step(copy(cause = Some(why)), LeaveQueue).andThen(_.close(at))
    case Stage.Placing =>
      val packs = progress.fold(Vector.empty)(_.plan.packs.map(_.pack))
      val unasked = copy(cause = Some(why), progress = progress.map(_.neverAsked))
      Step(unasked, StopTimer(FlareTimer.Inputs), Release(flare.attempt, packs)).andThen(_.finishUnasked(at))
    case _ =>
      val stopping = copy(stage = Stage.Stopping, cause = Some(why))
      if allEnded then stopping.finish(at)
      else
        Step(stopping, Abort(progress.fold(Vector.empty)(_.openPacks), why.failure))
          .add(Vector(FlareTimer.Start, FlareTimer.Deadline, FlareTimer.PeerGrace).map(StopTimer(_)))
          .add(Vector(SetTimer(FlareTimer.Abort)))

  private def willRetry: Boolean = allEnded && wantsRetry

  private def wantsRetry: Boolean = !cancelled && cause.exists(attempts.allowAnother)

  private def attempts = FlareAttempts(flare, progress, unplaced, asked = stage != Stage.Placing)

  private def finishUnasked(at: Timestamp): Step = if willRetry then retry else close(at)

  /** Every pack has ended, or was given up on. */
  private def finish(at: Timestamp): Step =
    val known = copy(cause = cause.orElse(suspicion.map(causeOf(_, at))))
    val timers = FinishTimers
    val stopped = Step(known).add(timers.map(StopTimer(_)))
    if terms.cleans && known.allEnded then
      stopped.andThen(_.copy(stage = Stage.Cleaning).cleaning)
    else stopped.andThen(_.finishUnasked(at))

  private def cleaning: Step = Step(this, SetTimer(FlareTimer.Clean), Clean)

  private def onCleaned(error: Option[Failure], at: Timestamp): Step =
    val note = error.map(e => Note(s"a flare left something on its backend: ${e.message}"))
    Step(this)
      .add(note.toVector :+ StopTimer(if isCleanLate then FlareTimer.Loss else FlareTimer.Clean))
      .andThen(now => if now.willRetry && error.isEmpty then now.retry else now.close(at))

  private def retry: Step =
    val next = flare.attempt + 1
    val note = Note(
      s"a flare runs again, attempt $next: ${cause.fold("")(c =>
          FlareEnding.describe(c.failure)
        )}"
    )
    val noRoom = cause.filter(attempts.foundNoRoom)
    val again = FlareLifecycle
      .queued(FlareLifecycle.reset(flare, next), terms)
      .copy(unplaced = unplaced + noRoom.size)
    // While placing no pack was requested, so there is nothing to clear. Besides, the store may still say
    // `queued`: a scheduler that has taken the flare over then runs this attempt, and stores its outputs
    // under the same names.
    val asked = stage != Stage.Placing
    Step(again, note)
      .add(Option.when(asked)(ClearAttempt).toVector)
      .add(Vector(
        Store(again.record, confirm = false),
        Requeue(next, cause.flatMap(attempts.unstarted), noRoom.map(_.failure)),
        SetTimer(FlareTimer.Queue)
      ))

  /** One output or error per worker, then the final record. */
  private def close(at: Timestamp): Step =
    val known = cause.flatMap: c =>
      if c.state == FlareState.TimedOut && c.provisional then
        FlareEnding.keptBy(c, progressOrNone, storageFailure)
      else Some(c)
    val why = known.map(c => (worker: WorkerRecord) => c.of(worker, progressOrNone))
    val workerState = known.fold(WorkerState.Failed)(_.workerState)
    val (resolved, missing) =
      why.fold((progressOrNone, Vector.empty))(progressOrNone.resolve(at, workerState, _))
    val ended = copy(
      stage = Stage.Closing,
      progress = progress.map(_ => resolved),
      flare = flare.copy(
        workers = if progress.isEmpty then resolved.workers else flare.workers,
        state = known.fold(FlareState.Succeeded)(_.state),
        ended = Some(at),
        error = known.map(_.failure)
      )
    )
    Step(ended)
      .add(FlareTimer.values.toVector.map(StopTimer(_)))
      .add(Option.when(missing.nonEmpty && !flare.request.isGroup)(StoreResults(missing)).toVector)
      .add(Vector(Store(ended.record, confirm = true)))

  /** The progress; for a flare that never had slots, one with its workers and no packs. */
  private def progressOrNone: AttemptProgress =
    progress.getOrElse(AttemptProgress.begin(Plan(Vector.empty, 0), terms.outputLimit).copy(workers =
      flare.workers
    ))

object FlareLifecycle:
  private val FinishTimers =
    Vector(FlareTimer.Start, FlareTimer.Deadline, FlareTimer.PeerGrace, FlareTimer.Abort, FlareTimer.Loss)

  enum Stage:
    case Waiting, Placing, Starting, Running, Stopping, Cleaning, Closing, Ended

  /** The settings that the state machine needs: whether the backend keeps data that must be cleaned up, and
    * the limits as its messages name them.
    */
  final case class Terms(
      cleans: Boolean,
      queueLimit: String,
      startLimit: String,
      abortLimit: String,
      cleanLimit: String,
      lateCleanLimit: String,
      outputLimit: Long
  )

  /** The state after a step, and its effects, in order. */
  final case class Step(state: FlareLifecycle, effects: Vector[FlareEffect]):
    def add(more: Vector[FlareEffect]): Step = copy(effects = effects ++ more)
    def andThen(next: FlareLifecycle => Step): Step =
      val after = next(state)
      Step(after.state, effects ++ after.effects)

  object Step:
    def apply(state: FlareLifecycle, effects: FlareEffect*): Step = Step(state, effects.toVector)

  /** A flare that waits for its slots, with nothing done for it yet. */
  def queued(flare: Flare, terms: Terms): FlareLifecycle =
    FlareLifecycle(flare, Stage.Waiting, None, None, None, None, cancelled = false, terms)

  /** A flare that was just accepted: stores it and starts its wait. */
  def accept(flare: Flare, terms: Terms): Step =
    Step(queued(flare, terms), Store(flare, confirm = true), SetTimer(FlareTimer.Queue))

  /** A flare that another scheduler placed, and whose packs may still run: their invokers report them
    * ([[FlareEvent.PacksHeld]]), or are lost. If it was being ended, the record has the cause.
    */
  def adopt(flare: Flare, terms: Terms, at: Timestamp): Step =
    val starting = flare.state != FlareState.Running
    val known = flare.copy(state = if starting then FlareState.Starting else FlareState.Running, error = None)
    // It is not known whether the packs were already told to start; they are told again, which does no harm.
    // A group is open when its packs have reported ready once more.
    val startsAgain = starting || flare.packs.length > 1 || flare.request.isGroup
    val life = queued(known, terms).copy(
      stage = if startsAgain then Stage.Starting else Stage.Running,
      progress = Some(AttemptProgress.resume(known, terms.outputLimit)),
      deadline = Some(flare.started.getOrElse(at) + flare.request.timeout)
    )
    // For a group the deadline is the time without a flare, which begins when it is open.
    val begun = Step(life)
      .add(Option.when(!flare.request.isGroup)(SetTimer(FlareTimer.Deadline)).toVector)
      .add(Option.when(starting)(SetTimer(FlareTimer.Start)).toVector)
    flare.error match
      case Some(why) => begun.andThen(_.stop(FlareEnding.known(why), at))
      // The failures of workers that have ended are not reported again.
      case None => begun.andThen(_.weigh(flare.workers.flatMap(_.error), at))

  /** A flare found queued in the store after a restart. */
  def resume(flare: Flare, terms: Terms): Step = Step(queued(flare, terms), SetTimer(FlareTimer.Queue))

  /** The same for a flare that is stored in another state. */
  def requeue(flare: Flare, terms: Terms): Step =
    Step(queued(flare, terms), Store(flare, confirm = false), SetTimer(FlareTimer.Queue))

  /** The flare as it is before `attempt`: nothing placed, nothing run. */
  def reset(flare: Flare, attempt: Int): Flare = flare.copy(
    state = FlareState.Queued,
    attempt = attempt,
    granularity = None,
    placed = None,
    started = None,
    ended = None,
    error = None,
    packs = Vector.empty,
    workers = pending(flare.request.size)
  )

  /** Workers of which nothing is known yet. */
  def pending(size: Int): Vector[WorkerRecord] =
    Vector.tabulate(size)(WorkerRecord(_, None, WorkerState.Pending, None, None, None))
