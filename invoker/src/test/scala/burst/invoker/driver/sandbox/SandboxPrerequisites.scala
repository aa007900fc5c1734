package burst.invoker.driver
package sandbox

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import scala.concurrent.duration.DurationInt

/** What the suites of the sandbox driver need on the machine. */
object SandboxPrerequisites:

  /** The settings of `reference.conf`, except for what tests must limit. */
  val settings: SandboxSettings = SandboxSettings(
    root = None,
    glibc = None,
    notInternet = Vector("10.0.0.0/8", "::/3"),
    mounts = Vector.empty,
    environment = Vector.empty,
    LimitSettings(cpusPerWorker = 1.0, memoryOverhead = 64, pids = 256, pidsPerWorker = 64),
    ProgramMemory(overhead = 64, perWorker = 16),
    tmpSize = 16,
    shmSize = 16,
    descriptors = 4096,
    users = UserRange(2_000_200_000L, 2_000_265_535L),
    unpackTimeout = 1.minute,
    startTimeout = 60.seconds,
    stopGrace = 250.millis,
    answerTimeout = 60.seconds,
    connectTimeout = 60.seconds
  )

  val isRoot: Boolean = Files.getAttribute(Path.of("/proc/self"), "unix:uid") == 0

  /** A user without an account here: the kernel accepts its number as a name. */
  val Ordinary = "59999"

  /** The runtime started as that user if the tests run as root; its script is in this directory. */
  def ofOrdinaryUser(directory: Path): Path =
    if !isRoot then Prerequisites.runtimeBinary
    else
      val become = s"setpriv --reuid=$Ordinary --regid=$Ordinary --clear-groups"
      // That user may not have access to the tests' copy.
      val copy = Files.copy(Prerequisites.runtimeBinary, directory.resolve("burst-runtime"))
      script(directory.resolve("ordinary.sh"), s"exec $become $copy \"$$@\"")

  /** Makes an executable shell script. */
  def script(file: Path, lines: String): Path =
    Files.writeString(file, s"#!/bin/sh\n$lines\n")
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"))
