package burst.invoker.runtime

import burst.node.SetupException
import burst.protocol.{BackendConfig, Failure, FailureKind, FlareId, RuntimeInfo}
import io.circe.jawn.parse
import io.circe.syntax.*
import io.circe.{Decoder, Json}
import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{blocking, ExecutionContext, Future}
import scala.util.Try

/** The runtime as a command on this machine: what it is, and what it can do besides serving packs. */
final class RuntimeBinary(path: Path):
  import RuntimeBinary.*

  /** What packages must be built for when packs run right here. Throws `SetupException`. */
  def describe(): RuntimeInfo =
    val answer = run(List("describe"), input = "", DescribeTimeout) match
      case Left(problem) => Left(problem)
      case Right(Finished(0, output)) =>
        parse(output).flatMap(Described.decodeJson).left.map(_ => "it answers in another form")
      case Right(Finished(code, _)) => Left(s"it ended with code $code")
    answer.fold(
      problem =>
        throw SetupException(
          s"'$path describe' does not work ($problem): set burst.invoker.runtime-binary to the burst-runtime " +
            "of this release."
        ),
      identity
    )

  /** Deletes what a flare left on its backend. The configuration goes through standard input: it may hold a
    * password, and arguments are for everyone to see.
    */
  def cleanup(flareId: FlareId, backend: BackendConfig, timeout: FiniteDuration)(using
      ExecutionContext
  ): Future[Option[Failure]] = Future:
    val input = Json.obj("flareId" -> flareId.asJson, "backend" -> backend.asJson).noSpaces
    val problem = blocking(run(List("cleanup"), input, timeout)) match
      case Right(Finished(0, _)) => None
      case Right(Finished(code, output)) => Some(s"it ended with code $code ${lastLine(output)}".trim)
      case Left(problem) => Some(problem)
    problem.map: reason =>
      Failure(FailureKind.Backend, s"what the flare left on its backend was not removed: $reason")

  private def run(
      arguments: List[String],
      input: String,
      timeout: FiniteDuration
  ): Either[String, Finished] =
    try
      val process = ProcessBuilder((path.toString :: arguments)*).redirectErrorStream(true).start()
      // Whoever reads the output waits until it ends: the deadline must not hang on that.
      val watchdog = process.onExit.orTimeout(timeout.toMillis, TimeUnit.MILLISECONDS)
      val _ = watchdog.whenComplete((_, late) => if late != null then { val _ = process.destroyForcibly() })
      Try:
        process.getOutputStream.write(input.getBytes(UTF_8))
        process.getOutputStream.close()
      val output = String(process.getInputStream.readNBytes(MaxOutput), UTF_8)
      if process.waitFor(timeout.toMillis, TimeUnit.MILLISECONDS) && !watchdog.isCompletedExceptionally then
        Right(Finished(process.exitValue, output))
      else Left(s"it did not end within $timeout")
    catch case problem: IOException => Left(s"it cannot be run: ${problem.getMessage}")

object RuntimeBinary:
  private final case class Finished(code: Int, output: String)
  private val DescribeTimeout = 5.seconds
  private val MaxOutput = 64 * 1024
  private val Described: Decoder[RuntimeInfo] = Decoder.forProduct2("arch", "glibc")(RuntimeInfo.apply)

  private def lastLine(output: String): String =
    output.linesIterator.filter(_.nonEmpty).toVector.lastOption.getOrElse("")
