package burst.invoker.driver
package sandbox

import burst.node.{RuntimeBinary, Sandboxing}
import java.nio.file.{Files, Path}
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.DurationInt

/** What the suites of the sandbox driver need on the machine. */
object SandboxPrerequisites:

  /** As in `reference.conf`, but for what tests must not have too much of. */
  val settings: SandboxSettings = SandboxSettings(
    root = None,
    glibc = None,
    environment = Vector.empty,
    LimitSettings(cpusPerWorker = 1.0, memoryOverhead = 64, pids = 256, pidsPerWorker = 64),
    ProgramMemory(overhead = 64, perWorker = 16),
    tmpSize = 16,
    shmSize = 16,
    descriptors = 4096,
    users = UserRange(2_000_200_000L, 2_000_265_535L),
    startTimeout = 30.seconds,
    stopGrace = 250.millis,
    answerTimeout = 10.seconds
  )

  /** What holds sandboxes to their limits here. */
  lazy val limitedBy: String = RuntimeBinary(Prerequisites.runtimeBinary).sandboxing() match
    case Sandboxing.Possible(limits) => limits
    case Sandboxing.Impossible(reason) => munit.Assertions.fail(s"no sandboxes can be made here: $reason")

  val isRoot: Boolean = Files.getAttribute(Path.of("/proc/self"), "unix:uid") == 0

  /** A driver as the invoker of this machine would have it. */
  def driver(owner: String, directory: Path)(using blocking: ExecutionContext): SandboxDriver = SandboxDriver(
    settings,
    Prerequisites.runtimeBinary,
    owner,
    directory,
    limitedBy,
    Option.when(isRoot)(settings.users),
    blocking
  )
