package burst.invoker.driver
package docker

import com.github.dockerjava.api.DockerClient
import com.github.dockerjava.api.exception.InternalServerErrorException
import org.slf4j.LoggerFactory
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** Holds containers to their packs' limits. */
private[driver] final class DockerLimits(docker: DockerClient)(using ExecutionContext):
  private val log = LoggerFactory.getLogger(classOf[DockerLimits])

  /** Holds the container to these limits from now on. Returns whether that succeeded, and it is still alive.
    */
  def hold(container: DockerContainer, needed: ContainerLimits): Future[Boolean] =
    container.needed = needed
    // The daemon also changes dead containers until they are removed.
    fit(container).map(_ == Change.Made && !container.exit.isCompleted)

  /** Raises its limits to at least these; it may have more until `fit` is called. Returns whether it has
    * enough.
    */
  def allow(container: DockerContainer, needed: ContainerLimits): Future[Boolean] =
    if !container.limits.current.allows(needed) then hold(container, needed)
    else
      container.needed = needed
      Future.successful(!container.exit.isCompleted)

  /** Reduces a container's limits to what it should have. */
  def fit(container: DockerContainer): Future[Change] =
    val needed = container.needed
    container.limits.change(needed): current =>
      val update = docker.updateContainerCmd(container.id)
      if needed.nanoCpus != current.nanoCpus then update.withNanoCPUs(needed.nanoCpus)
      if needed.memory != current.memory then update.withMemory(needed.memory).withMemorySwap(needed.memory)
      if needed.pids != current.pids then update.withPidsLimit(needed.pids)
      try
        update.exec()
        Change.Made
      catch
        case NonFatal(problem) =>
          log.debug("container {} cannot be resized: {}", container.id, DockerDriver.reason(problem))
          problem match
            case _: InternalServerErrorException => Change.Refused
            case _ => Change.Failed
