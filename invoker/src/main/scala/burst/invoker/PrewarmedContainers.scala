package burst.invoker

import burst.invoker.driver.{Container, Driver, StopOutcome}
import burst.invoker.pool.{PackSize, PrewarmPool}
import burst.protocol.{Failure, FailureKind}
import org.apache.pekko.actor.typed.scaladsl.ActorContext
import scala.util.Success

/** The containers of an invoker that wait for a pack of whatever definition: carries out what [[PrewarmPool]]
  * decides. Belongs to the invoker's actor.
  */
private final class PrewarmedContainers(
    wanted: Int,
    first: Option[PackSize],
    driver: Driver,
    context: ActorContext[Invoker.Command]
):
  import PrewarmedContainers.*

  private var pool = PrewarmPool[Container](wanted, first)

  /** How many are being removed. */
  private var leaving = 0

  def isEmpty: Boolean = pool.isEmpty && leaving == 0
  def ready: Int = pool.ready.size

  def take(size: PackSize): Option[Container] =
    val (container, others) = pool.take(size)
    pool = others
    container

  /** Asked with every heartbeat, so that one that fails, or is used, is not replaced at once. */
  def beat(): Unit =
    pool = pool.beat
    startLacking()

  def startLacking(): Unit = pool.lacking.foreach: size =>
    context.pipeToSelf(driver.prewarm(size.workers, size.memoryMiB)): result =>
      Started(result.fold(problem => Left(Failure(FailureKind.Internal, problem.toString)), identity))
    pool = pool.begun

  /** Keeps a container, unless another has taken its place meanwhile. */
  def takeBack(container: Container): Unit =
    if pool.hasRoom then
      context.pipeToSelf(container.exit)(_ => Exited(container))
      pool = pool.put(container)
    else discard(container)

  /** All go, and none is kept any more. */
  def close(): Unit =
    pool = pool.copy(wanted = 0)
    pool.ready.foreach(discard)

  def on(event: Event): Unit = event match
    case Started(outcome) =>
      pool = pool.answered(outcome.isRight)
      outcome.fold(failure => context.log.warn("no pre-warmed pack: {}", failure.message), takeBack)
    case Exited(container) => if pool.ready.contains(container) then discard(container)
    case Discarded(outcome) =>
      outcome match
        case StopOutcome.Gone => ()
        case StopOutcome.StillThere(reason) => context.log.error("a pre-warmed pack: {}", reason)
      leaving -= 1

  private def discard(container: Container): Unit =
    context.pipeToSelf(driver.stop(container)):
      case Success(outcome) => Discarded(outcome)
      case scala.util.Failure(problem) => Discarded(StopOutcome.StillThere(problem.toString))
    pool = pool.remove(container)
    leaving += 1

private object PrewarmedContainers:
  sealed trait Event
  private final case class Started(outcome: Either[Failure, Container]) extends Event
  private final case class Exited(container: Container) extends Event
  private final case class Discarded(outcome: StopOutcome) extends Event
