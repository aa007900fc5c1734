package burst.invoker.driver
package sandbox

import java.nio.file.Path
import java.util.concurrent.atomic.AtomicBoolean
import scala.concurrent.duration.DurationInt
import scala.concurrent.{ExecutionContext, Future, Promise}

/** What a sandbox has of the machine beside its processes: a user and a control group of its own, where there
  * are such, and the directory it was given in place of a package, if it was there before its package.
  */
private[driver] final case class Belongings(user: Option[Long], group: Option[String], blank: Option[Path])

/** A sandbox with a runtime in it: its launcher `process`, and `below` it the sandbox's first process, with
  * which all others go.
  */
private[driver] final class SandboxContainer(
    val process: RuntimeProcess,
    val below: Vector[ProcessHandle],
    val address: RuntimeAddress,
    allowed: ContainerLimits,
    val belongings: Belongings
)(using ExecutionContext)
    extends Container:
  import SandboxContainer.*

  def id: String = process.id
  def source: PackageSource = PackageSource.Mounted(Launcher.PackagePath)

  val limits: HeldLimits[ContainerLimits] = HeldLimits(allowed)

  /** Whether it may have been let through to servers or packs, or others to it. */
  val open: AtomicBoolean = AtomicBoolean()

  /** Whether its belongings have been given back. */
  val cleared: AtomicBoolean = AtomicBoolean()

  /** How it ended is among its last words, which may come after its end. */
  val exit: Future[ContainerExit] = process.exitCode.flatMap: code =>
    val late = Promise[Unit]()
    Delay.after(LastWords)(late.trySuccess(()))
    Future
      .firstCompletedOf(Seq(process.output.ended, late.future))
      .map(_ => ContainerExit(Some(code), process.output.lastLines.lastOption.contains(Launcher.OutOfMemory)))

private object SandboxContainer:
  private val LastWords = 250.millis
