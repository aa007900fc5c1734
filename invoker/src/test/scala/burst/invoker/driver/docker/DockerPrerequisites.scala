package burst.invoker.driver
package docker

import burst.node.RuntimeBinary
import java.nio.file.Path
import scala.concurrent.duration.DurationInt
import scala.util.Try

/** What the suites of the docker driver need on the machine. */
object DockerPrerequisites:

  /** The settings of `reference.conf`, except for what tests must limit. */
  def settings: DockerSettings = DockerSettings(
    host = None,
    image = Prerequisites.image,
    network = None,
    reachable = Vector.empty,
    notInternet = Vector.empty,
    mounts = Vector.empty,
    images = ImageSettings(Vector(""), size = 10240, disk = 40960, pullTimeout = 60.seconds),
    limits = LimitSettings(cpusPerWorker = 1.0, memoryOverhead = 64, pids = 256, pidsPerWorker = 64),
    tmpSize = 16,
    descriptors = 4096,
    users = UserRange(2_000_000_000L, 2_000_065_535L),
    group = 65534,
    callTimeout = 30.seconds,
    startTimeout = 60.seconds,
    parallelism = 16
  )

  def files(directory: Path): RuntimeFiles =
    RuntimeFiles(RuntimeBinary(Prerequisites.runtimeBinary), directory.resolve("runtime"))

  def daemon(settings: DockerSettings): DockerDaemon =
    Try(DockerDaemon.connect(settings)).fold(
      problem =>
        munit.Assertions.fail(
          s"${problem.getMessage} The docker tests need the Debian package docker.io, a running dockerd and the " +
            "image of `make image`; tests/prepare.sh sees to all of them."
        ),
      identity
    )
