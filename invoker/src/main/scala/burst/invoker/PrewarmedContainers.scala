package burst.invoker

import burst.invoker.driver.{Container, Driver, StopOutcome}
import burst.invoker.pool.{PackGuess, PackSize, PrewarmPool}
import burst.invoker.runtime.RuntimeClient
import burst.protocol.{Failure, FailureKind}
import org.apache.pekko.actor.typed.scaladsl.ActorContext
import org.slf4j.LoggerFactory
import scala.concurrent.{ExecutionContext, Future}
import scala.util.Success

/** The containers of an invoker that wait for a pack of any definition: carries out what [[PrewarmPool]]
  * decides, and starts the interpreter in them that the next pack is expected to need. Belongs to the
  * invoker's actor.
  */
private final class PrewarmedContainers(
    target: Int,
    first: Option[PackSize],
    driver: Driver,
    runtime: RuntimeClient,
    context: ActorContext[Invoker.Command]
):
  import PrewarmedContainers.*

  private given ExecutionContext = context.executionContext
  private var pool = PrewarmPool[Container](target, first.map(PackGuess(_, None)))

  /** The kind of interpreter that was last requested for the ready containers. */
  private var kind = Option.empty[String]

  /** How many are being removed. */
  private var leaving = 0

  def isEmpty: Boolean = pool.isEmpty && leaving == 0
  def ready: Int = pool.ready.size

  def take(pack: PackGuess): Option[Container] =
    val (container, others) = pool.take(pack)
    pool = others
    container

  /** Called with every heartbeat, so that a container that fails, or is used, is not replaced immediately. */
  def beat(): Unit =
    pool = pool.beat
    val nextKind = pool.guess.flatMap(_.kind)
    if nextKind != kind then
      kind = nextKind
      pool.ready.foreach(startInterpreter(_, nextKind))
    startMissing()

  def startMissing(): Unit = pool.missing.foreach: guess =>
    val started = driver.prewarm(guess.size.workers, guess.size.memoryMiB).flatMap:
      case Right(container) => startInterpreter(container, guess.kind).map(_ => Right(container))
      case failed => Future.successful(failed)
    context.pipeToSelf(started): result =>
      Started(result.fold(problem => Left(Failure(FailureKind.Internal, problem.toString)), identity))
    pool = pool.begun

  /** A container that already has an interpreter keeps it. Without any, only the first call takes longer. */
  private def startInterpreter(container: Container, kind: Option[String]): Future[Unit] = kind match
    case None => Future.unit
    case Some(kind) => runtime.startInterpreter(container.address, kind).map(_.left.foreach: failure =>
        log.debug("container {} has no interpreter waiting for {}: {}", container.id, kind, failure.message))

  /** Keeps a container, unless another has taken its place in the meantime. */
  def takeBack(container: Container): Unit =
    if pool.hasRoom then
      context.pipeToSelf(container.exit)(_ => Exited(container))
      pool = pool.put(container)
    else discard(container)

  /** Removes all containers, and keeps none any more. */
  def close(): Unit =
    pool = pool.copy(target = 0)
    pool.ready.foreach(discard)

  def on(event: Event): Unit = event match
    case Started(outcome) =>
      pool = pool.answered(outcome.isRight)
      outcome.fold(failure => context.log.warn("no pre-warmed pack: {}", failure.message), takeBack)
    case Exited(container) => if pool.ready.contains(container) then discard(container)
    case Discarded(outcome) =>
      outcome match
        case StopOutcome.Stopped => ()
        case StopOutcome.NotStopped(reason, _) => context.log.error("a pre-warmed pack: {}", reason)
      leaving -= 1

  private def discard(container: Container): Unit =
    context.pipeToSelf(driver.stop(container)):
      case Success(outcome) => Discarded(outcome)
      case scala.util.Failure(problem) => Discarded(StopOutcome.NotStopped(problem.toString))
    pool = pool.remove(container)
    leaving += 1

private object PrewarmedContainers:
  private val log = LoggerFactory.getLogger(classOf[PrewarmedContainers])

  sealed trait Event
  private final case class Started(outcome: Either[Failure, Container]) extends Event
  private final case class Exited(container: Container) extends Event
  private final case class Discarded(outcome: StopOutcome) extends Event
