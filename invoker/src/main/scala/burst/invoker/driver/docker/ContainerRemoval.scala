package burst.invoker.driver
package docker

import com.github.dockerjava.api.DockerClient
import com.github.dockerjava.api.exception.{ConflictException, NotFoundException}
import java.util.concurrent.TimeUnit
import org.slf4j.LoggerFactory
import scala.annotation.tailrec
import scala.concurrent.duration.{Deadline, DurationInt}
import scala.util.Try

/** Ends containers and removes them from the daemon. Blocks. */
private[driver] final class ContainerRemoval(docker: DockerClient):
  import ContainerRemoval.*

  private val log = LoggerFactory.getLogger(classOf[ContainerRemoval])

  /** Kills a container and returns whether it is dead: the daemon answers when the container has ended. */
  def kill(id: String): Boolean =
    Try(docker.killContainerCmd(id).exec()) match
      case scala.util.Success(_) => true
      case scala.util.Failure(_: NotFoundException | _: ConflictException) => true // it had ended before
      case scala.util.Failure(problem) =>
        log.warn("container {} cannot be killed, removing it by force: {}", id, DockerDriver.reason(problem))
        false

  /** Can be called at any time, also concurrently. */
  def remove(id: String): StopOutcome =
    val deadline = Bound.fromNow
    @tailrec def attempt(): StopOutcome =
      Try(docker.removeContainerCmd(id).withForce(true).withRemoveVolumes(true).exec()) match
        case scala.util.Success(_) => StopOutcome.Stopped
        case scala.util.Failure(_: NotFoundException) => StopOutcome.Stopped
        case scala.util.Failure(_: ConflictException) if awaitRemoved(id, deadline) => StopOutcome.Stopped
        case scala.util.Failure(problem) if deadline.isOverdue() =>
          log.error("container {} cannot be removed: {}", id, DockerDriver.reason(problem))
          StopOutcome.NotStopped(
            s"container ${id.take(12)} cannot be removed: ${DockerDriver.reason(problem)}"
          )
        case scala.util.Failure(_) =>
          TimeUnit.MILLISECONDS.sleep(100)
          attempt()
    attempt()

  /** The container is already being removed: waits until that is done. */
  private def awaitRemoved(id: String, deadline: Deadline): Boolean =
    def isRemoved =
      Try(docker.inspectContainerCmd(id).exec()).failed.toOption.exists(_.isInstanceOf[NotFoundException])
    while !isRemoved && deadline.hasTimeLeft() do TimeUnit.MILLISECONDS.sleep(10)
    isRemoved

private object ContainerRemoval:
  private val Bound = 15.seconds
