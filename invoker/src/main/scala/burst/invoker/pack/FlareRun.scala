package burst.invoker.pack

import burst.invoker.driver.ContainerExit
import burst.invoker.runtime.{EventStream, FreshProgram, Refusal}
import burst.node.MonotonicTime
import burst.protocol.*
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.FiniteDuration

/** The pack on which a flare runs: the flare's own, or its group's. */
private[pack] trait FlareHost:
  /** The group, where it is a group's. */
  def group: Option[FlareId]

  /** Whether its container was there for another call, and the program runs. */
  def isJoined: Boolean

  def concerns(id: FlareId): Boolean
  def leaseLeft: Option[FiniteDuration]
  def renewLease(until: MonotonicTime): Unit

  /** Takes note of what is not for the flare. */
  def note(command: PackActor.Command): Unit

  /** Asks the runtime when the program has its network. */
  def reach[A](pack: LoadedPack)(ask: => Future[Either[Refusal, A]]): Future[Either[Refusal, A]]

  /** This container is of no use, and nothing has run in it: tries with another one, if it can, or ends. */
  def replaced(pack: LoadedPack): Option[Behavior[PackActor.Command]]

  /** Its program runs, which is about to be told. */
  def isUp(pack: LoadedPack): Unit

  /** The flare has ended well, which remains to be reported. */
  def kept(pack: LoadedPack)(report: => Unit): Behavior[PackActor.Command]

  /** The flare has ended, and its program runs no other. */
  def spent(pack: LoadedPack, error: Option[Failure]): Behavior[PackActor.Command]

  /** The container goes, and the pack ends. */
  def destroy(pack: LoadedPack, error: Option[Failure]): Behavior[PackActor.Command]

/** A flare's part on a pack whose container is there. */
private[pack] final class FlareRun(
    asked: PackAssignment,
    replyTo: ActorRef[PackReport],
    host: FlareHost,
    at: PackContext
) extends PackStates(asked.withoutInputs, replyTo, at):
  import PackActor.*
  import at.{context, services, timers}
  import services.{driver, runtime, timings}

  // Forgotten once the runtime has them: they may be large, and a pack may last.
  private var inputs = asked.inputs
  private val outputs = OutputFlow(services.outputs, assignment.definition.namespace)
  private val spans = PackSpans(assignment, services.spans, services.invoker.value, services.clock)
  private val due = MonotonicTime.now() + assignment.timeLeft

  override def concerns(id: FlareId): Boolean = super.concerns(id) || host.concerns(id)
  protected def note(command: Command): Unit = host.note(command)
  protected def stopped(): Unit =
    reporter.release()
    close()
  protected def destroy(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
    host.destroy(pack, error)

  def limitTime(): Unit =
    timers.startSingleTimer(FlareOverdue, assignment.timeLeft + timings.deadlineSlack)

  /** What the runtime tells of this flare. */
  private var stream = Option.empty[EventStream]

  /** No output is held any more, and no word waited for. */
  def close(): Unit =
    outputs.close()
    stream.foreach(_.cancel())

  /** The pack has ended under it. */
  def ended(error: Option[Failure]): Unit =
    spans.ended(error)
    reporter.ended(reusable = false, error)

  // ---- Opening -------------------------------------------------------------------------------------------

  /** The call that opens a fresh pack also starts its program. */
  def open(pack: LoadedPack, start: PackStart): Behavior[Command] =
    expectStart()
    // Before it can begin, as who is killed right after it has says no more.
    if !assignment.invocation.isEmpty then reporter.tell(Vector.empty, begins = Some(true))
    val fresh =
      Option.when(start != PackStart.Warm)(FreshProgram.of(pack.container.source, assignment))
    tell(host.reach(pack)(runtime.run(pack.container.address, runPack(pack), fresh)))(asTaken)(Opened(
      pack.container.id,
      _
    ))
    opening(pack, start, exit = None, aborted = None)

  /** Another container is tried only where nothing can have begun in this one. Of one that died the answer is
    * waited for, which may say so.
    */
  private def opening(
      pack: LoadedPack,
      start: PackStart,
      exit: Option[ContainerExit],
      aborted: Option[Failure]
  ): Behavior[Command] =
    def replaced =
      if !assignment.invocation.isEmpty then reporter.tell(Vector.empty, begins = Some(false))
      // Another container has its own time to come up.
      timers.cancel(InitOverdue)
      if start == PackStart.Warm then host.replaced(pack) else None
    def lost(exit: ContainerExit) = destroy(pack, Some(during(Operation.Init, died(exit))))
    receive:
      case Opened(id, _) if id != pack.container.id => Behaviors.same // of one that was replaced meanwhile
      case Opened(_, Right(events)) =>
        timers.cancel(InitOverdue)
        inputs = Inputs.Hidden
        stream = Some(events)
        // A call that computes keeps the program from saying so, for longer than a start may take.
        if host.isJoined then
          reporter.tell(Vector(PackEvent.Ready(endpoint = None, services.clock())), Some(start))
        // Where nothing is to be waited for, on the thread that has read them.
        def take(batch: Vector[PackEvent]) =
          outputs.admit(batch).map(_ => context.self ! Events(batch))(using ExecutionContext.parasitic)
        events.foreach(take).onComplete: ended =>
          context.self ! StreamEnded(ended.toEither.left.toOption)
        if exit.isEmpty then aborted.fold(running(pack, start, aborted = None))(abort(pack, start, _))
        else breaking(pack, start, aborted, reason = None, streamEnded = false, exit)
      case Opened(_, Left(refusal)) if refusal.mayBeTaken && assignment.autostart =>
        exit.fold(breakOff(pack, refusal))(lost)
      case Opened(_, Left(refusal)) => replaced.getOrElse(exit.fold(breakOff(pack, refusal))(lost))
      case Exited(id, exit) if id == pack.container.id && assignment.autostart =>
        expectRest(silent = false)
        opening(pack, start, Some(exit), aborted)
      case Exited(id, exit) if id == pack.container.id => replaced.getOrElse(lost(exit))
      case Settled(_) if exit.nonEmpty => exit.fold(Behaviors.same)(lost)
      case InitOverdue(_) if start == PackStart.Warm =>
        val silent = s"the warm pack's runtime did not answer within ${timings.init}"
        destroy(pack, Some(during(Operation.Init, Failure(FailureKind.PackLost, silent))))
      case AtOnce(failure) => destroy(pack, Some(failure))
      // The container has other flares, which are not to end with this one: the runtime is told to end it once
      // it has begun it.
      case Ending(failure) if host.isJoined && aborted.isEmpty =>
        timers.startSingleTimer(AbortOverdue, timings.abort)
        opening(pack, start, exit, Some(failure))
      case AbortOverdue => destroy(pack, aborted)
      case Ending(failure) if aborted.isEmpty => destroy(pack, Some(failure))

  private var startAsked = false

  // ---- Running -------------------------------------------------------------------------------------------

  private def running(pack: LoadedPack, start: PackStart, aborted: Option[Failure]): Behavior[Command] =
    receive:
      case Events(events) => pass(pack, start, events, intact = aborted.isEmpty).getOrElse(Behaviors.same)
      // A scheduler that has taken over does not know whether the one before it sent this.
      case Start(id, endpoints) if id == assignment.flareId && !startAsked =>
        startAsked = true
        tell(startOf(pack, endpoints))(asAnswer)(Started(id, _))
        Behaviors.same
      case OutputStored(id) if id == assignment.flareId =>
        outputs.stored()
        Behaviors.same
      case Started(id, Left(failure)) if id == assignment.flareId =>
        breaking(pack, start, aborted, Some(failure), streamEnded = false, exit = None)
      case StreamEnded(problem) =>
        breaking(pack, start, aborted, Some(broken(problem)), streamEnded = true, exit = None)
      case Exited(id, exit) if id == pack.container.id =>
        breaking(pack, start, aborted, None, streamEnded = false, exit = Some(exit))
      case RenewLease(until) =>
        host.renewLease(until)
        // Another one follows before this is over: an answer that is lost costs nothing.
        host.leaseLeft.foreach(left => runtime.renew(pack.container.address, assignment.flareId, left))
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
      case Ending(failure) if aborted.isEmpty => abort(pack, start, failure)
      case AbortOverdue => destroy(pack, aborted)

  private def abort(pack: LoadedPack, start: PackStart, failure: Failure): Behavior[Command] =
    tell(runtime.abort(pack.container.address, assignment.flareId, failure))(asAnswer)(AbortSent(_))
    timers.startSingleTimer(AbortOverdue, timings.abort)
    running(pack, start, Some(failure))

  /** The runtime says no more, and has not said that the pack has ended. */
  private def broken(problem: Option[Throwable]) =
    val how = problem.fold("the pack's runtime ended its answer before the pack's end"): problem =>
      val why = Option(problem.getMessage).getOrElse(problem.getClass.getSimpleName)
      s"the connection to the pack's runtime broke: $why"
    Failure(FailureKind.PackLost, how)

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
    def lost = exit.map(died).orElse(aborted).orElse(reason).getOrElse(broken(None))
    if streamEnded && exit.nonEmpty then destroy(pack, Some(lost))
    else
      if !timers.isTimerActive(Settled) then expectRest(silent = streamEnded)
      receive:
        case Events(events) => pass(pack, start, events, intact = false).getOrElse(Behaviors.same)
        case OutputStored(id) if id == assignment.flareId =>
          outputs.stored()
          Behaviors.same
        case StreamEnded(problem) =>
          breaking(pack, start, aborted, reason.orElse(Some(broken(problem))), streamEnded = true, exit)
        case Exited(id, exit) if id == pack.container.id =>
          breaking(pack, start, aborted, reason, streamEnded, Some(exit))
        case Settled(_) | AbortOverdue => destroy(pack, Some(lost))
        case AtOnce(failure) => destroy(pack, Some(failure))

  /** Reports what happened; answers where to go when the pack has ended by it. Only one that nothing has
    * befallen (`intact`) is kept, whatever its runtime thinks of it: of such a one the last that happened is
    * reported with its end, as each report costs as much as all that is in it.
    */
  private def pass(
      pack: LoadedPack,
      start: PackStart,
      events: Vector[PackEvent],
      intact: Boolean
  ): Option[Behavior[Command]] =
    val (before, ended) = events.span(!_.isInstanceOf[PackEvent.PackEnded])
    val isKept = intact && ended.headOption.exists:
      case PackEvent.PackEnded(reusable, _, _, _) => reusable
      case _ => false
    if before.nonEmpty then
      val ready = before.exists(_.isInstanceOf[PackEvent.Ready])
      if ready then host.isUp(pack)
      val report = before.map(published(pack, _))
      val begun = Option.when(ready)(start)
      // Others may wait to join the container, which they can between its start and its end.
      val isWaitedFor = ready && assignment.shared.isDefined
      val isShort = PackReport.outputBytes(report) <= PackReport.FreeOutput
      if isKept && isShort && !isWaitedFor then reporter.hold(report, begun)
      else reporter.tell(report, begun)
      if before.exists(FlareRun.isUp) then spans.ready(start)
      spans.told(before)
      if ready then
        at.watch.ready(start)
        driver.confine(pack.container)
      noteFinished(before)
    ended.headOption.collect:
      case PackEvent.PackEnded(_, error, _, traffic) =>
        traffic.foreach(at.watch.sent(assignment.backend.kind, _))
        val own = error.map(ofProgram)
        if isKept then keep(pack, own) else host.spent(pack, own)

  /** Other invokers' packs are told where they find it. Failures are cleaned here as well as by the runtime,
    * which the program may have taken over.
    */
  private def published(pack: LoadedPack, event: PackEvent): PackEvent = event match
    case PackEvent.Ready(Some(endpoint), at) =>
      PackEvent.Ready(Some(driver.publish(pack.container, endpoint)), at)
    case failed: PackEvent.WorkerFailed => failed.copy(error = ofProgram(failed.error))
    case other => other

  /** And it is told where it finds them. */
  private def startOf(pack: LoadedPack, endpoints: Vector[Option[String]]): Future[Either[Failure, Unit]] =
    driver.find(pack.container, endpoints).flatMap:
      case Right(found) => runtime.start(pack.container.address, assignment.flareId, found)
      case Left(failure) => Future.successful(Left(failure))

  /** A program may say what it likes, but not in the invoker's name that the machine is at fault. */
  private def ofProgram(error: Failure): Failure =
    error.copy(operation = error.operation.filterNot(Operation.StartSteps))

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
    if host.group.isEmpty && finished > before && finished < shape.workers && !timers.isTimerActive(SlotsDue)
    then
      returnSlotsSoon()

  private def returnSlotsSoon(): Unit =
    timings.slotReturn.foreach(delay => timers.startSingleTimer(SlotsDue, SlotsDue, delay))

  // ---- Ended well ----------------------------------------------------------------------------------------

  /** The answer is read to its end first: to break it off would look to the runtime like a lost invoker. */
  private def keep(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
    expectEnd()
    receive:
      case StreamEnded(None) =>
        close()
        host.kept(pack):
          spans.ended(error)
          reporter.ended(reusable = true, error)
      case StreamEnded(Some(_)) | Settled(_) => lose(pack, error)
      case Exited(id, _) if id == pack.container.id => lose(pack, error)
      case AtOnce(_) => lose(pack, error)

  /** Its container takes a while to go. */
  private def lose(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
    reporter.release()
    destroy(pack, error)

  private def runPack(pack: LoadedPack) = RunPack(
    assignment.flareId,
    assignment.pack,
    assignment.packSizes,
    inputs,
    assignment.backend,
    assignment.secret,
    services.advertise.getOrElse(pack.container.address.host),
    services.clock() + (due - MonotonicTime.now()),
    host.group,
    assignment.autostart,
    host.leaseLeft,
    driver.programMemory(shape.workers, shape.memoryMiB),
    assignment.invocation,
    spans.workers,
    FlareRun.logLimit(assignment)
  )

private object FlareRun:
  /** In bytes. Several workers share what is stored of a flare's log, and calls beside each other in a
    * container its memory here: none of them has more than before there were limits.
    */
  def logLimit(assignment: PackAssignment): Option[Long] =
    val definition = assignment.definition
    val isAlone = assignment.packSizes.sum == 1 && definition.concurrency == 1
    val each = if isAlone then definition.logs else definition.logs.min(DefinitionRef.WorkerLogs)
    Option.when(each != DefinitionRef.WorkerLogs)(each.toLong << 20)

  /** Whether the program is up: a flare of one pack starts by itself. */
  def isUp(event: PackEvent): Boolean = event match
    case _: (PackEvent.Ready | PackEvent.WorkerStarted) => true
    case _ => false
