package burst.invoker.driver

import burst.protocol.Failure
import java.util.concurrent.atomic.AtomicBoolean
import scala.concurrent.{ExecutionContext, Future}

/** Why a container's network access could not be opened, or not closed: each driver has its own reasons. */
private[driver] trait NetworkProblem:
  def sentence: String

/** A container's network access, with a driver that isolates packs: it is opened for a flare, and closed when
  * the container is idle. The next flare waits until it is closed, even if it needs no access: its code must
  * neither reach what another flare could, nor run in a container that is about to be ended because it cannot
  * be closed. So does the first flare, if a new container is not closed from the beginning.
  */
private[driver] final class NetworkGate(
    @volatile private var closed: Future[Either[NetworkProblem, Unit]] = Future.successful(Right(()))
):
  private val isOpen = AtomicBoolean()

  def open(isNeeded: Boolean)(how: => Future[Either[Failure, Unit]]): Future[Either[Failure, Unit]] =
    closed.flatMap {
      case Left(problem) =>
        val message = s"the container may still reach what its last flare did: ${problem.sentence}"
        Future.successful(Left(Driver.startFailed(message)))
      case Right(()) if isNeeded =>
        isOpen.set(true)
        how
      case Right(()) => Future.successful(Right(()))
    }(using ExecutionContext.parasitic) // mostly it is already closed, and nobody waits

  /** Closes it if it may be open. */
  def close(how: => Future[Either[NetworkProblem, Unit]]): Unit = if isOpen.getAndSet(false) then closed = how
