package burst.node

import burst.protocol.{BackendConfig, Failure, FailureKind, FlareId, RuntimeInfo}
import io.circe.jawn.parse
import io.circe.syntax.*
import io.circe.{Decoder, Json}
import com.typesafe.config.Config
import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{blocking, ExecutionContext, Future}
import scala.util.Try

/** The runtime as a command on this machine: its properties, and what it can do besides serving packs. */
final class RuntimeBinary(path: Path):
  import RuntimeBinary.*

  /** What packages must be built for if packs run on this machine. Throws `SetupException`. */
  def describe(): RuntimeInfo = described[RuntimeInfo]

  /** The kinds of backends that exist. Throws `SetupException`. */
  def backends(): Vector[String] = described(using Decoder.instance(_.get[Vector[String]]("backends")))

  private def described[A: Decoder]: A =
    answer[A](List("describe")).fold(
      problem =>
        throw SetupException(
          s"'$path describe' does not work (${problem.sentence}): set burst.invoker.runtime-binary to the " +
            "burst-runtime of this release."
        ),
      identity
    )

  /** Returns the addresses of a backend's servers, for those who open the network to them for packs. Throws
    * `IOException`.
    */
  def servers(backend: BackendConfig): Vector[ServerAddress] =
    answer[Vector[ServerAddress]](List("servers"), backend.asJson.noSpaces, NamesTimeout).fold(
      problem => throw IOException(s"'$path servers' does not work (${problem.sentence})"),
      identity
    )

  /** Whether this user can sandbox packs on this machine. */
  def sandboxing(): Sandboxing =
    answer[Sandboxing](SandboxCheck).left
      .map: problem =>
        val command = SandboxCheck.mkString(" ")
        Sandboxing.Impossible(s"'$path $command' does not work (${problem.sentence})")
      .merge

  /** Removes the control groups whose names begin with `prefix`, with everything that runs in them, and
    * returns how many there were; blocks.
    */
  def removeSandboxes(prefix: String): Either[RuntimeProblem, Int] =
    answer[Int](List("sandbox", "--remove", prefix))

  /** Unpacks an image into a directory that nobody else uses, unless it is already there, and removes others;
    * blocks.
    */
  def unpack(image: Path, directory: Path, timeout: FiniteDuration): Either[RuntimeProblem, UnpackedImage] =
    run(List("unpack", image.toString, directory.toString), "", timeout).flatMap:
      case Finished(0, output) => read(output)
      case Finished(_, output) =>
        Left(RuntimeProblem.Refused(lastLine(output).stripPrefix("burst-runtime: ")))

  /** Lays out the runtime in an empty directory, with everything it needs to run in any image; blocks. */
  def layOut(directory: Path): Either[RuntimeProblem, Unit] =
    run(List("lay-out", directory.toString), "", AnswerTimeout).flatMap:
      case Finished(0, _) => Right(())
      case Finished(code, output) =>
        Left(RuntimeProblem.Ended(code, lastLine(output), who = s"'$path lay-out'"))

  private def answer[A: Decoder](
      command: List[String],
      input: String = "",
      timeout: FiniteDuration = AnswerTimeout
  ): Either[RuntimeProblem, A] = output(command, input, timeout).flatMap(read)

  /** The output of a command that ended with code 0. */
  private def output(
      command: List[String],
      input: String,
      timeout: FiniteDuration
  ): Either[RuntimeProblem, String] =
    run(command, input, timeout).flatMap:
      case Finished(0, output) => Right(output)
      case Finished(code, output) => Left(RuntimeProblem.Ended(code, lastLine(output)))

  /** The answer is one line; libraries may have printed something else. */
  private def read[A: Decoder](output: String): Either[RuntimeProblem, A] =
    output.linesIterator
      .map(parse(_).flatMap(_.as[A]))
      .collectFirst { case Right(answer) => answer }
      .toRight(RuntimeProblem.OtherForm)

  /** Deletes what a flare left on its backend. The configuration goes through standard input: it may hold a
    * password, and everybody can see arguments.
    */
  def cleanup(flareId: FlareId, backend: BackendConfig, timeout: FiniteDuration)(using
      ExecutionContext
  ): Future[Option[Failure]] = Future:
    val input = Json.obj("flareId" -> flareId.asJson, "backend" -> backend.asJson).noSpaces
    blocking(output(List("cleanup"), input, timeout)).left.toOption.map: problem =>
      val message = s"what the flare left on its backend was not removed: ${problem.sentence}"
      Failure(FailureKind.Backend, message)

  private def run(
      arguments: List[String],
      input: String,
      timeout: FiniteDuration
  ): Either[RuntimeProblem, Finished] =
    try
      val process = ProcessBuilder((path.toString :: arguments)*).redirectErrorStream(true).start()
      // Reading the output blocks until it ends: the deadline must not depend on that.
      val watchdog = process.onExit.orTimeout(timeout.toMillis, TimeUnit.MILLISECONDS)
      val _ = watchdog.whenComplete((_, late) => if late != null then { val _ = process.destroyForcibly() })
      Try:
        process.getOutputStream.write(input.getBytes(UTF_8))
        process.getOutputStream.close()
      val output = String(process.getInputStream.readNBytes(MaxOutput), UTF_8)
      if process.waitFor(timeout.toMillis, TimeUnit.MILLISECONDS) && !watchdog.isCompletedExceptionally then
        Right(Finished(process.exitValue, output))
      else Left(RuntimeProblem.Late(timeout))
    catch case problem: IOException => Left(RuntimeProblem.NotRun(problem.getMessage))

object RuntimeBinary:
  private final case class Finished(code: Int, output: String)

  /** It answers within milliseconds, or seconds if it ends something slowly: only if it hangs, or the machine
    * is overloaded, does it take this long.
    */
  private val AnswerTimeout = 30.seconds

  /** A flare waits for the names of its backend's servers, and the name server may not answer at all. */
  private val NamesTimeout = 5.seconds
  private val MaxOutput = 64 * 1024
  private val SandboxCheck = List("sandbox", "--check")

  /** Finds the runtime; a bare name is looked up in `searchPath`. Throws `SetupException`. */
  def find(root: Config, searchPath: Option[String] = sys.env.get("PATH")): Path =
    val name = root.getString("burst.invoker.runtime-binary")
    val candidates =
      if name.contains('/') then Vector(Path.of(name).toAbsolutePath)
      else searchPath.toVector.flatMap(_.split(':')).filter(_.nonEmpty).map(Path.of(_).resolve(name))
    candidates
      .find(path => Files.isRegularFile(path) && Files.isExecutable(path))
      .getOrElse(
        throw SetupException(
          s"'$name' is not an executable here: run `make build`, or set burst.invoker.runtime-binary to " +
            "where burst-runtime is."
        )
      )

  private def lastLine(output: String): String =
    output.linesIterator.filter(_.nonEmpty).toVector.lastOption.getOrElse("")

/** The address at which a server listens. */
final case class ServerAddress(host: String, port: Int) derives Decoder:
  /** Whether its address has to be looked up. */
  def isNamed: Boolean = !host.matches("[0-9.]+|.*:.*")

/** Where an image was unpacked, and its labels for Burst. */
final case class UnpackedImage(root: Path, labels: Map[String, String])

object UnpackedImage:
  given Decoder[UnpackedImage] =
    Decoder.forProduct2[UnpackedImage, String, Map[String, String]]("root", "labels"): (root, labels) =>
      UnpackedImage(Path.of(root), labels)

/** Whether the kernel allows this user to sandbox packs. `limits` describes what holds them to their limits,
  * `reason` what prevents it, and what to change.
  */
enum Sandboxing:
  case Possible(limits: String)
  case Impossible(reason: String)

object Sandboxing:
  given Decoder[Sandboxing] = Decoder.instance: answer =>
    answer.get[Boolean]("possible").flatMap:
      case true => answer.get[String]("limits").map(Possible(_))
      case false => answer.get[String]("reason").map(Impossible(_))
