package burst.invoker.driver
package docker

import java.nio.file.Path
import scala.concurrent.{Future, Promise}

/** A container of the Docker driver. `blank` is the directory it was given in place of a package, if it was
  * there before its package. `vacated` once nothing is left of the one that had its address.
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

  /** What its pack is to have: less than its limits for a moment, where it was there before its pack. */
  @volatile var needed: ContainerLimits = allowed

  val limits: HeldLimits[ContainerLimits] = HeldLimits(allowed)

  /** What it is admitted to. */
  val gate: NetworkGate = NetworkGate(vacated)
