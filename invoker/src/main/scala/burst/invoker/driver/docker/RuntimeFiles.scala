package burst.invoker.driver
package docker

import burst.node.{RuntimeBinary, RuntimeProblem}
import java.nio.file.{Files, Path}

/** The runtime with all it needs to run, as a directory that is mounted into images of users' own: they may
  * have no C library, or another one. Made when the first one is asked for.
  */
private[driver] final class RuntimeFiles(binary: RuntimeBinary, directory: Path):
  /** Where they are, or why they are not. Blocks. */
  def made: Either[RuntimeProblem, Path] = laidOut

  private lazy val laidOut: Either[RuntimeProblem, Path] =
    PackageFiles.delete(directory)
    Files.createDirectories(directory)
    Files.setPosixFilePermissions(directory, PackageFiles.Readable)
    binary.layOut(directory).map(_ => directory)

private[driver] object RuntimeFiles:
  /** Where a container has them. */
  val MountPoint = "/.burst"

  /** What it is started with: by a loader of its own, and by no library of the image. */
  val EntryPoint: List[String] =
    List(s"$MountPoint/loader", "--inhibit-cache", "--library-path", MountPoint, s"$MountPoint/burst-runtime")

  /** Where a loader looks for libraries to load first, whatever it is told. */
  val Preloaded = "/etc/ld.so.preload"

  /** What a loader and a C library are told by variables, which images must not tell ours. */
  def isTold(variable: String): Boolean =
    List("LD_", "GLIBC_", "MALLOC_", "BURST_").exists(variable.startsWith)
