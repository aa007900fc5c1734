package burst.invoker.pack

import burst.invoker.runtime.{FreshProgram, Refusal}
import burst.node.MonotonicTime
import burst.protocol.*
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.Future

/** A pack that serves a group: it rests between the group's flares, and ends when the group does, or when a
  * flare on it has not ended well.
  */
private[pack] final class GroupPack(
    fullAssignment: PackAssignment,
    replyTo: ActorRef[PackReport],
    lease: Option[MonotonicTime],
    at: PackContext
) extends PackLifecycle(fullAssignment, replyTo, lease, at),
      FlareHost:
  import PackActor.*
  import at.{invoker, services, timers}
  import services.{driver, runtime}

  private val spans = PackSpans(assignment, services.spans, services.invoker.value, services.clock)

  /** Requests that could not be handled when they came: the next flare, and the group's end. */
  private var waiting = Option.empty[Run]
  private var closing = Option.empty[Failure]

  /** The flare that runs, and the last one that did. */
  private var running = Option.empty[FlareRun]
  private var answered = Option.empty[FlareId]

  override def onOther(command: Command): Unit = command match
    case run: Run => waiting = Some(run)
    case Abort(id, failure, _) if concerns(id) => closing = Some(failure)
    case other => super.onOther(other)

  protected def stopped(): Unit = running.foreach(_.close())

  protected def supplied(pack: LoadedPack, start: PackStart): Behavior[Command] = initialise(pack, start)

  // ---- Initialising --------------------------------------------------------------------------------------

  /** Starts its program separately, as there is nothing to run yet; a warm pack's program already runs. Both
    * get the group's network; a warm pack that cannot have it is replaced.
    */
  private def initialise(pack: LoadedPack, start: PackStart): Behavior[Command] =
    expectStart()
    val container = pack.container
    def program = start match
      case PackStart.Warm => Future.successful(Right(()))
      case _ => runtime.init(container.address, FreshProgram.of(container.source, assignment))
    def replaced =
      // Another container has its full time to come up.
      timers.cancel(InitOverdue)
      replace(pack)
    pipeToSelf(connected(pack)(program))(asTaken)(Initialised(container.id, _))
    receive:
      case Initialised(id, _) if id != container.id => Behaviors.same // of a container that has been replaced
      case Initialised(_, Right(())) =>
        timers.cancel(InitOverdue)
        loaded(pack, start)
      // Nothing has run in it.
      case Initialised(_, Left(_)) if start == PackStart.Warm => replaced
      case Exited(id, _) if id == container.id && start == PackStart.Warm => replaced
      case Initialised(_, Left(refusal)) => breakOff(pack, refusal)
      case Exited(id, exit) if id == container.id =>
        destroy(pack, Some(during(Operation.Init, died(exit))))
      case Ending(failure) => destroy(pack, Some(failure))

  private def loaded(pack: LoadedPack, start: PackStart): Behavior[Command] =
    reporter.send(Vector(PackEvent.Ready(endpoint = None, services.clock())), Some(start))
    at.watch.ready(start)
    spans.ready(start)
    driver.confine(pack.container)
    rest(pack)

  // ---- Resting -------------------------------------------------------------------------------------------

  private def rest(pack: LoadedPack): Behavior[Command] =
    Seq(FlareOverdue, Settled, AbortOverdue).foreach(timers.cancel)
    val next = waiting
    waiting = None
    closing.map(failure => destroy(pack, Some(failure))).orElse(next.map(serve(pack, _))).getOrElse:
      receive:
        case run: Run => serve(pack, run)
        case Exited(id, exit) if id == pack.container.id => destroy(pack, Some(died(exit)))
        case Ending(failure) => destroy(pack, Some(failure))

  private def serve(pack: LoadedPack, next: Run): Behavior[Command] =
    val run = FlareRun(next.assignment, next.replyTo, this, at)
    answered = Some(next.assignment.flareId)
    running = Some(run)
    run.limitTime()
    run.open(pack, PackStart.Warm)

  protected def end(error: Option[Failure], finished: Finished): Unit =
    running.foreach(_.close())
    at.watch.ended(error)
    invoker ! finished.copy(answered = waiting.map(_.assignment.flareId).orElse(answered))
    running.foreach(_.ended(error))
    spans.ended(error.filterNot(_.kind == FailureKind.Cancelled))
    reporter.ended(reusable = false, error)
    waiting.foreach(notServed)

  private def notServed(run: Run): Unit =
    val failure =
      Failure(
        FailureKind.PackLost,
        "the group ended before the flare began",
        operation = Some(Operation.Start)
      )
    PackReporter(run.assignment, services, run.replyTo).ended(reusable = false, Some(failure))

  // ---- For its flares ------------------------------------------------------------------------------------

  def group: Option[FlareId] = Some(assignment.flareId)

  /** Its flares have the group's network. */
  def reach[A](pack: LoadedPack)(ask: => Future[Either[Refusal, A]]): Future[Either[Refusal, A]] = ask

  def replaced(pack: LoadedPack): Option[Behavior[Command]] = None

  def onProgramUp(pack: LoadedPack): Unit = ()

  def keep(pack: LoadedPack)(report: => Unit): Behavior[Command] =
    report
    running = None
    rest(pack)

  def spent(pack: LoadedPack, error: Option[Failure]): Behavior[Command] = destroy(pack, error)
