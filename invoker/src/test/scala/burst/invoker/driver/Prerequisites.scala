package burst.invoker.driver

import java.nio.file.{Files, Path}

/** What the driver suites need on the machine; a test that lacks it fails with instructions to get it. */
object Prerequisites:

  /** The runtime built by `make build`, or the one that `BURST_TEST_RUNTIME` names. */
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
