package burst.invoker.driver
package sandbox

import java.nio.file.Path
import java.util.concurrent.atomic.AtomicBoolean
import scala.concurrent.duration.DurationInt
import scala.concurrent.{ExecutionContext, Future, Promise}

/** What a sandbox has of the machine beside its processes: a user and a control group of its own, where there
  * are such, and the directory it was given in place of a package, if it was there before its package.
  */
private[driver] final case class SandboxResources(
    user: Option[Long],
    group: Option[String],
    blank: Option[Path]
)

/** A shim with the sandbox that it makes, whether or not that comes up. */
private[driver] final class Sandbox(val process: RuntimeProcess, val resources: SandboxResources):
  private val said = process.output.await(Shim.Processes)

  /** Those of its processes with which all others go; none while it makes its walls, or where it has not got
    * so far.
    */
  def below: Vector[ProcessHandle] = said.value.flatMap(_.toOption).getOrElse(Vector.empty)

  /** Whether its resources have been given back. */
  val cleared: AtomicBoolean = AtomicBoolean()

  /** Whether somebody sees to it that it goes, and when it has gone. */
  val isEnding: AtomicBoolean = AtomicBoolean()
  val gone: Promise[Unit] = Promise()

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

  /** The servers and packs that it is let through to, and those that are let through to it. */
  val gate: NetworkGate = NetworkGate()

  /** How it ended is among its last words, which may come after its end. */
  val exit: Future[ContainerExit] = process.exitCode.flatMap: code =>
    val late = Promise[Unit]()
    Delay.after(LastWords)(late.trySuccess(()))
    Future
      .firstCompletedOf(Seq(process.output.ended, late.future))
      .map(_ => ContainerExit(Some(code), process.output.lastLines.lastOption.contains(Shim.OutOfMemory)))

private object SandboxContainer:
  private val LastWords = 250.millis
