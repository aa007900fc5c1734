package burst.invoker.driver
package docker

import burst.node.{RuntimeBinary, RuntimeProblem}
import java.nio.file.{Files, Path}

/** The runtime with everything it needs to run, as a directory that is mounted into users' images: they may
  * have no C library, or another one. Created on first use.
  */
private[driver] final class RuntimeFiles(binary: RuntimeBinary, directory: Path):
  /** The directory, or why it could not be created. Blocks. */
  def made: Either[RuntimeProblem, Path] = laidOut

  private lazy val laidOut: Either[RuntimeProblem, Path] =
    PackageFiles.delete(directory)
    Files.createDirectories(directory)
    Files.setPosixFilePermissions(directory, PackageFiles.Readable)
    binary.layOut(directory).map(_ => directory)

private[driver] object RuntimeFiles:
  /** Where containers have the directory. */
  val MountPoint = "/.burst"

  /** The command that starts it: with a loader of its own, and without any library of the image. */
  val EntryPoint: List[String] =
    List(s"$MountPoint/loader", "--inhibit-cache", "--library-path", MountPoint, s"$MountPoint/burst-runtime")

  /** A file of libraries that a loader always loads first. */
  val Preloaded = "/etc/ld.so.preload"

  /** Whether a variable affects a loader or a C library: images must not set those for ours. */
  def isReserved(variable: String): Boolean =
    List("LD_", "GLIBC_", "MALLOC_", "BURST_").exists(variable.startsWith)
