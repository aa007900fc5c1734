package burst.controller.blob

import java.io.{BufferedReader, InputStreamReader}
import java.net.URI
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import scala.concurrent.duration.DurationInt

/** The S3 server of the tests (`tests/servers`), as a process that ends with this JVM. */
final class S3Server private (process: Process, val settings: S3Settings) extends AutoCloseable:
  override def close(): Unit =
    process.destroyForcibly()
    val _ = process.waitFor(30, TimeUnit.SECONDS)

object S3Server:
  lazy val shared: S3Server = fresh()

  def fresh(): S3Server =
    val process = ProcessBuilder(program.toString).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    val line = Option(BufferedReader(InputStreamReader(process.getInputStream)).readLine())
    S3Server(process, settings(URI(line.getOrElse(munit.Assertions.fail("the S3 server did not start")))))

  /** Parses `s3://KEY:SECRET@BUCKET/PREFIX?region=…&endpoint=…`. */
  private def settings(address: URI): S3Settings =
    val parameters = address.getQuery.split('&').map(_.split("=", 2)).map(p => p(0) -> p(1)).toMap
    val Array(key, secret) = address.getUserInfo.split(":", 2): @unchecked
    val credentials = Some(S3Credentials(key, secret))
    S3Settings(
      address.getHost,
      "",
      parameters.get("endpoint").map(URI(_)),
      parameters("region"),
      credentials,
      30.seconds
    )

  private lazy val program: Path =
    Iterator
      .iterate(Path.of("").toAbsolutePath)(_.getParent)
      .takeWhile(_ != null)
      .flatMap(root =>
        Vector("linted/release", "release").map(build => root.resolve(s"target/$build/burst-s3-server"))
      )
      .find(Files.isExecutable)
      .getOrElse(munit.Assertions.fail(
        "the S3 server of the tests is not built: run `make s3-server`; `make prepare` does"
      ))
