package burst.invoker.driver
package sandbox

import burst.node.{RuntimeBinary, SetupException}
import java.nio.file.{Files, Path}

/** What packs see instead of this machine's C library: a directory, and the version of its C library if an
  * image specifies it.
  */
private[driver] final case class SandboxRoot(directory: Path, glibc: Option[String])

private[driver] object SandboxRoot:
  /** The label of an image that defines what its packages must be built for, as with Docker. */
  private val Glibc = "burst.glibc"

  /** The root from the settings; an image is unpacked into `unpacked`, from which others are removed. Blocks.
    * Throws `SetupException`.
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

  /** Whether it is an OCI image layout, or a file that may be a tar of one. */
  private def isImage(path: Path): Boolean =
    Files.isRegularFile(path) || Files.isRegularFile(path.resolve("oci-layout"))
