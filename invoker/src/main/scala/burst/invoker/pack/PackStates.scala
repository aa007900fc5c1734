package burst.invoker.pack

import burst.invoker.driver.{ContainerExit, StopOutcome}
import burst.invoker.metrics.PackWatch
import burst.invoker.pool.PackShape
import burst.invoker.runtime.Refusal
import burst.protocol.*
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior, PostStop}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.Try

/** The actor of a pack, and what it works with. */
private[pack] final case class PackContext(
    services: PackServices,
    invoker: ActorRef[PackActor.Finished | PackActor.Shares],
    watch: PackWatch,
    context: ActorContext[PackActor.Command],
    timers: TimerScheduler[PackActor.Command]
)

/** What the states of a pack, and those of a flare on it, have in common. */
private[pack] abstract class PackStates(
    protected val assignment: PackAssignment,
    replyTo: ActorRef[PackReport],
    at: PackContext
):
  import PackActor.*
  import PackStates.*
  import at.{context, services, timers}
  import services.timings

  protected given ExecutionContext = context.executionContext
  protected val reporter = PackReporter(assignment, services, replyTo)
  protected val shape = PackShape.of(assignment)

  /** Whether messages for this flare, or group, are for the pack. */
  def concerns(id: FlareId): Boolean = id == assignment.flareId

  /** Handles a command that the current state does not expect. */
  protected def onOther(command: Command): Unit

  /** Removes the container; the pack ends with it. */
  protected def destroy(pack: LoadedPack, error: Option[Failure]): Behavior[Command]

  /** A start is late when all parts of its time have passed, each of which begins when the previous one's end
    * was processed: if this process was stalled, the answer may have arrived meanwhile, and is processed
    * first.
    */
  protected def expectStart(parts: Int = StartParts): Unit =
    timers.startSingleTimer(InitOverdue, InitOverdue(parts - 1), timings.init / StartParts)

  /** Waits shortly for what is still on its way, in parts as well. If a runtime on this machine has gone
    * `silent`, the end of its container is sure to be reported, however busy the machine is.
    */
  protected def expectRest(silent: Boolean): Unit =
    settleIn(if silent && services.driver.isLocal then SilentParts else RestParts)

  /** The same, for the end of a runtime's answer, which may take longer. */
  protected def expectEnd(): Unit = settleIn((timings.abort / (timings.settle / RestParts)).ceil.toInt)

  private def settleIn(parts: Int): Unit =
    timers.startSingleTimer(Settled, Settled(parts - 1), timings.settle / RestParts)

  private def stepped: PartialFunction[Command, Behavior[Command]] =
    case InitOverdue(partsLeft) if partsLeft > 0 =>
      expectStart(partsLeft)
      Behaviors.same
    case Settled(partsLeft) if partsLeft > 0 =>
      settleIn(partsLeft)
      Behaviors.same

  /** Commands that a state does not name do not concern it: timers and answers that it no longer waits for.
    */
  protected def receive(handler: PartialFunction[Command, Behavior[Command]]): Behavior[Command] =
    Behaviors
      .receiveMessagePartial[Command](stepped.orElse(handler).orElse { other =>
        onOther(other)
        Behaviors.same
      })
      .receiveSignal { case (_, PostStop) =>
        stopped()
        Behaviors.same
      }

  /** Called when the pack's actor has stopped, perhaps because of a defect: ends whatever would go on without
    * it.
    */
  protected def stopped(): Unit

  /** Whatever ends a pack other than its own end: an abort, a program that does not come up, or the flare's
    * deadline if nobody has sent an abort.
    */
  protected object Ending:
    def unapply(command: Command): Option[Failure] = command match
      case Abort(id, failure, _) if concerns(id) => Some(failure)
      case FlareOverdue => Some(Failure(FailureKind.Timeout, "the flare's deadline has passed"))
      case InitOverdue(_) =>
        val message = s"the program did not report within ${timings.init}: is it linked with the Burst SDK?"
        Some(Failure(FailureKind.StartFailed, message, operation = Some(Operation.Init)))
      case _ => None

  /** An abort without a grace period. */
  protected object AtOnce:
    def unapply(command: Command): Option[Failure] = command match
      case Abort(id, failure, true) if concerns(id) => Some(failure)
      case _ => None

  /** The runtime has refused or not answered; if its container has died or is about to, that is the reason to
    * report.
    */
  protected def breakOff(pack: LoadedPack, refusal: Refusal): Behavior[Command] =
    if refusal.log.nonEmpty && assignment.definition.logs > 0 then reporter.send(refusal.log)
    expectRest(silent = refusal.isSilence)
    receive:
      case Exited(id, exit) if id == pack.container.id =>
        val why = if exit.oomKilled || refusal.isSilence then died(exit) else refusal.failure
        destroy(pack, Some(during(Operation.Init, why)))
      case Settled(_) => destroy(pack, Some(during(Operation.Init, refusal.failure)))
      case Ending(aborted) => destroy(pack, Some(aborted))

  protected def pipeToSelf[A, B](future: Future[A])(outcome: Try[A] => B)(command: B => Command): Unit =
    context.pipeToSelf(future)(result => command(outcome(result)))

  protected def asAnswer[A](result: Try[Either[Failure, A]]): Either[Failure, A] =
    result.fold(problem => Left(internal(problem)), identity)

  protected def asTaken[A](result: Try[Either[Refusal, A]]): Either[Refusal, A] =
    result.fold(problem => Left(Refusal(internal(problem).message)), identity)

  protected def asOutcome(result: Try[StopOutcome]): StopOutcome =
    result.fold(problem => StopOutcome.NotStopped(internal(problem).message), identity)

  private def internal(problem: Throwable): Failure =
    Failure(FailureKind.Internal, s"${problem.getClass.getSimpleName}: ${problem.getMessage}")

  protected def died(exit: ContainerExit): Failure =
    if exit.oomKilled then
      val memory = s"${shape.totalMemoryMiB} MiB for ${shape.workers} workers"
      Failure(FailureKind.OutOfMemory, s"the pack's container used more than its memory ($memory)")
    else
      Failure(FailureKind.PackLost, s"the pack's container ${exit.how}")

  protected def during(operation: String, failure: Failure): Failure =
    failure.copy(operation = failure.operation.orElse(Some(operation)))

private object PackStates:
  private val StartParts = 8
  private val RestParts = 2
  private val SilentParts = 16
