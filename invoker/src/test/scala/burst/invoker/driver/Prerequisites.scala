package burst.invoker.driver

import java.nio.file.{Files, Path}
import scala.concurrent.duration.DurationInt
import scala.util.Try

/** What the driver suites need on the machine; a test that lacks it fails and says how to get it. */
object Prerequisites:

  /** The runtime as `make build` leaves it, or the one `BURST_TEST_RUNTIME` names. */
  lazy val runtimeBinary: Path =
    val start = Path.of("").toAbsolutePath
    val built = Iterator
      .iterate(start)(_.getParent)
      .takeWhile(_ != null)
      .flatMap(root =>
        List(root.resolve("target/release/burst-runtime"), root.resolve("dist/bin/burst-runtime"))
      )
    (sys.env.get("BURST_TEST_RUNTIME").map(Path.of(_)).iterator ++ built)
      .find(Files.isExecutable)
      .getOrElse(munit.Assertions.fail(
        "burst-runtime is not built: run `cargo build --release -p burst-runtime`"
      ))

  val image: String = sys.env.getOrElse("BURST_TEST_IMAGE", "burst-runtime:latest")

  /** As in `reference.conf`, but for what tests must not have too much of. */
  def dockerSettings: DockerSettings = DockerSettings(
    host = None,
    image = image,
    network = None,
    reachable = Vector.empty,
    notInternet = Vector.empty,
    mounts = Vector.empty,
    cpuFactor = 1.0,
    memoryOverhead = 64,
    pids = 256,
    pidsPerWorker = 64,
    tmpSize = 16,
    descriptors = 4096,
    users = UserRange(2_000_000_000L, 2_000_065_535L),
    group = 65534,
    callTimeout = 30.seconds,
    startTimeout = 60.seconds
  )

  def dockerDaemon(settings: DockerSettings): DockerDaemon =
    Try(DockerDaemon.connect(settings)).fold(
      problem =>
        munit.Assertions.fail(
          s"${problem.getMessage} The docker tests need the Debian package docker.io, a running dockerd and the " +
            "image of `make image`; tests/prepare.sh sees to all of them."
        ),
      identity
    )
