package burst.invoker.driver
package docker

import java.nio.file.Path
import scala.concurrent.{Future, Promise}

/** A container of the Docker driver. `blank` is the directory that it got instead of a package, if it was
  * pre-warmed. `vacated` completes once nothing is left of the container that had its address before.
  */
private[driver] final class DockerContainer(
    val id: String,
    val address: RuntimeAddress,
    allowed: ContainerLimits,
    val ended: Promise[ContainerExit],
    val blank: Option[Path],
    vacated: Future[Either[FirewallProblem, Unit]]
) extends Container:
  def source: PackageSource = PackageSource.Mounted(ContainerSpec.PackagePath)
  def exit: Future[ContainerExit] = ended.future

  /** The limits that its pack needs: for a moment lower than the actual ones, if it was pre-warmed. */
  @volatile var needed: ContainerLimits = allowed

  val limits: HeldLimits[ContainerLimits] = HeldLimits(allowed)

  /** Its network access. */
  val gate: NetworkGate = NetworkGate(vacated)
