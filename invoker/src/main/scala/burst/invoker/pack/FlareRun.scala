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
  /** The group, if this is a group's pack. */
  def group: Option[FlareId]

  /** Whether its container was already there for another call, with its program running. */
  def isJoined: Boolean

  def concerns(id: FlareId): Boolean
  def remainingLease: Option[FiniteDuration]
  def renewLease(until: MonotonicTime): Unit

  /** Handles a command that is not for the flare. */
  def onOther(command: PackActor.Command): Unit

  /** Sends a request to the runtime once the program has its network. */
  def reach[A](pack: LoadedPack)(ask: => Future[Either[Refusal, A]]): Future[Either[Refusal, A]]

  /** Called if this container is unusable, and nothing has run in it: tries another one, if possible, or
    * ends.
    */
  def replaced(pack: LoadedPack): Option[Behavior[PackActor.Command]]

  /** Called when its program runs, just before that is reported. */
  def onProgramUp(pack: LoadedPack): Unit

  /** Called when the flare has ended well; `report` has yet to report that. */
  def keep(pack: LoadedPack)(report: => Unit): Behavior[PackActor.Command]

  /** Called when the flare has ended, and its program cannot run another. */
  def spent(pack: LoadedPack, error: Option[Failure]): Behavior[PackActor.Command]

  /** Removes the container and ends the pack. */
  def destroy(pack: LoadedPack, error: Option[Failure]): Behavior[PackActor.Command]

/** A flare's part on a pack that has its container. */
private[pack] final class FlareRun(
    fullAssignment: PackAssignment,
    replyTo: ActorRef[PackReport],
    host: FlareHost,
    at: PackContext
) extends PackStates(fullAssignment.withoutInputs, replyTo, at):
  import PackActor.*
  import at.{context, services, timers}
  import services.{driver, runtime, timings}

  // Dropped once the runtime has them: they may be large, and a pack may last long.
  private var inputs = fullAssignment.inputs
  private val outputs = OutputFlow(services.outputs, assignment.definition.namespace)
  private val spans = PackSpans(assignment, services.spans, services.invoker.value, services.clock)
  private val deadline = MonotonicTime.now() + assignment.timeLeft

  override def concerns(id: FlareId): Boolean = super.concerns(id) || host.concerns(id)
  protected def onOther(command: Command): Unit = host.onOther(command)
  protected def stopped(): Unit =
    reporter.release()
    close()
  protected def destroy(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
    host.destroy(pack, error)

  def limitTime(): Unit =
    timers.startSingleTimer(FlareOverdue, assignment.timeLeft + timings.deadlineSlack)

  /** The runtime's events of this flare. */
  private var stream = Option.empty[EventStream]

  /** Releases all outputs, and waits for no further events. */
  def close(): Unit =
    outputs.close()
    stream.foreach(_.cancel())

  /** Called when the pack has ended during the flare. */
  def ended(error: Option[Failure]): Unit =
    spans.ended(error)
    reporter.ended(reusable = false, error)

  // ---- Opening -------------------------------------------------------------------------------------------

  /** The call that opens a fresh pack also starts its program. */
  def open(pack: LoadedPack, start: PackStart): Behavior[Command] =
    expectStart()
    // Reported before it can begin: after a crash right then nobody could report it.
    if !assignment.invocation.isEmpty then reporter.send(Vector.empty, begins = Some(true))
    val fresh =
      Option.when(start != PackStart.Warm)(FreshProgram.of(pack.container.source, assignment))
    pipeToSelf(host.reach(pack)(runtime.run(pack.container.address, runPack(pack), fresh)))(asTaken)(Opened(
      pack.container.id,
      _
    ))
    opening(pack, start, exit = None, aborted = None)

  /** Another container is tried only if nothing can have begun in this one. If it died, the runtime's answer
    * is awaited, which may show that.
    */
  private def opening(
      pack: LoadedPack,
      start: PackStart,
      exit: Option[ContainerExit],
      aborted: Option[Failure]
  ): Behavior[Command] =
    def replaced =
      if !assignment.invocation.isEmpty then reporter.send(Vector.empty, begins = Some(false))
      // Another container has its full time to come up.
      timers.cancel(InitOverdue)
      if start == PackStart.Warm then host.replaced(pack) else None
    def lost(exit: ContainerExit) = destroy(pack, Some(during(Operation.Init, died(exit))))
    receive:
      case Opened(id, _) if id != pack.container.id => Behaviors.same // of a container that has been replaced
      case Opened(_, Right(events)) =>
        timers.cancel(InitOverdue)
        inputs = Inputs.Hidden
        stream = Some(events)
        // A call that computes can keep the program from reporting this, for longer than a start may take.
        if host.isJoined then
          reporter.send(Vector(PackEvent.Ready(endpoint = None, services.clock())), Some(start))
        // If there is nothing to wait for, this runs on the thread that has read the events.
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
      // The container has other flares, which must not end with this one: the runtime is asked to end it once
      // it has begun.
      case Ending(failure) if host.isJoined && aborted.isEmpty =>
        timers.startSingleTimer(AbortOverdue, timings.abort)
        opening(pack, start, exit, Some(failure))
      case AbortOverdue => destroy(pack, aborted)
      case Ending(failure) if aborted.isEmpty => destroy(pack, Some(failure))

  private var startRequested = false

  // ---- Running -------------------------------------------------------------------------------------------

  private def running(pack: LoadedPack, start: PackStart, aborted: Option[Failure]): Behavior[Command] =
    receive:
      case Events(events) => pass(pack, start, events, intact = aborted.isEmpty).getOrElse(Behaviors.same)
      // A scheduler that has taken over does not know whether its predecessor sent this.
      case Start(id, endpoints) if id == assignment.flareId && !startRequested =>
        startRequested = true
        pipeToSelf(startOf(pack, endpoints))(asAnswer)(Started(id, _))
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
        // Another renewal follows before this one expires: a lost answer costs nothing.
        host.remainingLease.foreach(lease => runtime.renew(pack.container.address, assignment.flareId, lease))
        Behaviors.same
      case ReturnSlots =>
        val remaining = shape.workers - finished
        pipeToSelf(driver.throttle(pack.container, remaining))(_.getOrElse(false))(Throttled(remaining, _))
        Behaviors.same
      case Throttled(remaining, done) =>
        if done then reporter.send(Vector.empty, slots = Some(remaining))
        if done && shape.workers - finished < remaining then returnSlotsSoon()
        running(pack.copy(throttled = pack.throttled || done), start, aborted)
      case AtOnce(failure) => destroy(pack, Some(failure))
      case Ending(failure) if aborted.isEmpty => abort(pack, start, failure)
      case AbortOverdue => destroy(pack, aborted)

  private def abort(pack: LoadedPack, start: PackStart, failure: Failure): Behavior[Command] =
    pipeToSelf(runtime.abort(pack.container.address, assignment.flareId, failure))(asAnswer)(AbortSent(_))
    timers.startSingleTimer(AbortOverdue, timings.abort)
    running(pack, start, Some(failure))

  /** The failure if the runtime's answer ends without the pack's end. */
  private def broken(problem: Option[Throwable]) =
    val how = problem.fold("the pack's runtime ended its answer before the pack's end"): problem =>
      val why = Option(problem.getMessage).getOrElse(problem.getClass.getSimpleName)
      s"the connection to the pack's runtime broke: $why"
    Failure(FailureKind.PackLost, how)

  /** The pack is lost; waits shortly for what is still on its way: the last events, and how the container
    * ended.
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

  /** Reports events; returns the next state if the pack has ended with them. Only a pack that nothing has
    * happened to (`intact`) is kept, whatever its runtime reports: its last events are then reported together
    * with its end, as each report costs as much as everything in it.
    */
  private def pass(
      pack: LoadedPack,
      start: PackStart,
      events: Vector[PackEvent],
      intact: Boolean
  ): Option[Behavior[Command]] =
    val (before, ended) = events.span(!_.isInstanceOf[PackEvent.PackEnded])
    val isReusable = intact && ended.headOption.exists:
      case PackEvent.PackEnded(reusable, _, _, _) => reusable
      case _ => false
    if before.nonEmpty then
      val ready = before.exists(_.isInstanceOf[PackEvent.Ready])
      if ready then host.onProgramUp(pack)
      val report = before.map(published(pack, _))
      val begun = Option.when(ready)(start)
      // Others may wait to join the container, which they can between its start and its end.
      val isAwaited = ready && assignment.shared.isDefined
      val isSmall = PackReport.outputBytes(report) <= PackReport.FreeOutput
      if isReusable && isSmall && !isAwaited then reporter.hold(report, begun)
      else reporter.send(report, begun)
      if before.exists(FlareRun.isUp) then spans.ready(start)
      spans.record(before)
      if ready then
        at.watch.ready(start)
        driver.confine(pack.container)
      countFinished(before)
    ended.headOption.collect:
      case PackEvent.PackEnded(_, error, _, traffic) =>
        traffic.foreach(at.watch.sent(assignment.backend.kind, _))
        val own = error.map(ofProgram)
        if isReusable then keep(pack, own) else host.spent(pack, own)

  /** Replaces the endpoint by the one for other invokers' packs. Failures are checked here as well as by the
    * runtime, which the program may have taken over.
    */
  private def published(pack: LoadedPack, event: PackEvent): PackEvent = event match
    case PackEvent.Ready(Some(endpoint), at) =>
      PackEvent.Ready(Some(driver.publish(pack.container, endpoint)), at)
    case failed: PackEvent.WorkerFailed => failed.copy(error = ofProgram(failed.error))
    case other => other

  /** Starts the pack with the endpoints at which it finds the others. */
  private def startOf(pack: LoadedPack, endpoints: Vector[Option[String]]): Future[Either[Failure, Unit]] =
    driver.find(pack.container, endpoints).flatMap:
      case Right(found) => runtime.start(pack.container.address, assignment.flareId, found)
      case Left(failure) => Future.successful(Left(failure))

  /** A program can report any failure, but not pose as the invoker and blame the machine. */
  private def ofProgram(error: Failure): Failure =
    error.copy(operation = error.operation.filterNot(Operation.StartSteps))

  private var finished = 0

  /** Returns the slots of ended workers after a while if the pack goes on, together with those of workers
    * that end meanwhile: most packs end as a whole, and need none of these calls.
    */
  private def countFinished(events: Vector[PackEvent]): Unit =
    val before = finished
    finished += events.count:
      case _: (PackEvent.WorkerSucceeded | PackEvent.WorkerFailed) => true
      case _ => false
    // a group keeps its slots for its next flare
    val someEnded = finished > before && finished < shape.workers
    if host.group.isEmpty && someEnded && !timers.isTimerActive(ReturnSlots) then returnSlotsSoon()

  private def returnSlotsSoon(): Unit =
    timings.slotReturn.foreach(delay => timers.startSingleTimer(ReturnSlots, ReturnSlots, delay))

  // ---- Ended well ----------------------------------------------------------------------------------------

  /** Reads the answer to its end first: breaking it off would look to the runtime like a lost invoker. */
  private def keep(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
    expectEnd()
    receive:
      case StreamEnded(None) =>
        close()
        host.keep(pack):
          spans.ended(error)
          reporter.ended(reusable = true, error)
      case StreamEnded(Some(_)) | Settled(_) => discard(pack, error)
      case Exited(id, _) if id == pack.container.id => discard(pack, error)
      case AtOnce(_) => discard(pack, error)

  /** Releases the held report first, since it takes a while to remove the container. */
  private def discard(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
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
    services.clock() + (deadline - MonotonicTime.now()),
    host.group,
    assignment.autostart,
    host.remainingLease,
    driver.programMemory(shape.workers, shape.memoryMiB),
    assignment.invocation,
    spans.workers,
    FlareRun.logLimit(assignment)
  )

private object FlareRun:
  /** In bytes. Several workers share the stored log of a flare, and concurrent calls in a container share its
    * memory here: each of these gets at most `WorkerLogs`.
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
