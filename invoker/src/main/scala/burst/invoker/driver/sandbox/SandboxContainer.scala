package burst.invoker.driver
package sandbox

import java.nio.file.Path
import java.util.concurrent.atomic.AtomicBoolean
import scala.concurrent.duration.DurationInt
import scala.concurrent.{ExecutionContext, Future, Promise}

/** What a sandbox has of the machine besides its processes: a user and a control group of its own, if these
  * exist, and the directory that it got instead of a package, if it was pre-warmed.
  */
private[driver] final case class SandboxResources(
    user: Option[Long],
    group: Option[String],
    blank: Option[Path]
)

/** A shim with the sandbox that it makes, whether or not the sandbox comes up. */
private[driver] final class Sandbox(val process: RuntimeProcess, val resources: SandboxResources):
  private val processes = process.output.await(Shim.Processes)

  /** Those of its processes whose end ends all others; none while it sets up its namespaces, or if it did not
    * get so far.
    */
  def below: Vector[ProcessHandle] = processes.value.flatMap(_.toOption).getOrElse(Vector.empty)

  /** Whether its resources have been given back. */
  val cleared: AtomicBoolean = AtomicBoolean()

  /** Whether its removal is already being retried; `removed` completes when it has succeeded. */
  val isEnding: AtomicBoolean = AtomicBoolean()
  val removed: Promise[Unit] = Promise()

/** A sandbox with a runtime in it that listens. */
private[driver] final class SandboxContainer(
    val sandbox: Sandbox,
    val address: RuntimeAddress,
    allowed: ContainerLimits
)(using ExecutionContext)
    extends Container:
  import SandboxContainer.*
  export sandbox.{below, process, resources}

  def id: String = process.id
  def source: PackageSource = PackageSource.Mounted(Shim.PackagePath)

  val limits: HeldLimits[ContainerLimits] = HeldLimits(allowed)

  /** The servers and packs that it can reach, and those that can reach it. */
  val gate: NetworkGate = NetworkGate()

  /** How it ended is in its last lines of output, which can arrive after its end. */
  val exit: Future[ContainerExit] = process.exitCode.flatMap: code =>
    val late = Promise[Unit]()
    Delay.after(OutputTimeout)(late.trySuccess(()))
    Future
      .firstCompletedOf(Seq(process.output.ended, late.future))
      .map(_ => ContainerExit(Some(code), process.output.lastLines.lastOption.contains(Shim.OutOfMemory)))

private object SandboxContainer:
  private val OutputTimeout = 250.millis
