package burst.invoker.driver
package sandbox

import burst.node.{RuntimeBinary, SetupException}
import java.nio.file.{Files, Path}

/** What packs see in place of this machine's C library: a directory, and the version of its C library where
  * an image says it.
  */
private[driver] final case class SandboxRoot(directory: Path, glibc: Option[String])

private[driver] object SandboxRoot:
  /** The label of an image that says what its packages must be built for, as with Docker. */
  private val Glibc = "burst.glibc"

  /** That of the settings, which an image is unpacked to be: into `unpacked`, where no other one stays.
    * Blocks. Throws `SetupException`.
    */
  def of(settings: SandboxSettings, binary: RuntimeBinary, unpacked: Path): Option[SandboxRoot] =
    settings.root.map(Path.of(_)) match
      case Some(image) if isImage(image) =>
        val root = binary.unpack(image, unpacked, settings.unpackTimeout).fold(
          problem =>
            throw SetupException(
              s"burst.invoker.sandbox.root: $image cannot be packs' root: ${problem.sentence}."
            ),
          identity
        )
        Some(SandboxRoot(root.root, root.labels.get(Glibc)))
      case other =>
        PackageFiles.delete(unpacked)
        other.map(SandboxRoot(_, None))

  /** An OCI image layout, or what may be a tar of it. */
  private def isImage(path: Path): Boolean =
    Files.isRegularFile(path) || Files.isRegularFile(path.resolve("oci-layout"))
