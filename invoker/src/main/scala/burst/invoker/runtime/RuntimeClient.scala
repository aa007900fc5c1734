package burst.invoker.runtime

import burst.invoker.driver.{PackageSource, RuntimeAddress}
import burst.protocol.MessageCodecs.given
import burst.protocol.{
  DefinitionRef,
  Environment,
  Failure,
  FailureKind,
  FlareId,
  MessageCodecs,
  PackAssignment,
  PackEvent,
  Protocol,
  RunPack,
  RuntimeRefusal,
  Versions
}
import com.github.plokhotnyuk.jsoniter_scala.core.{readFromArray, JsonReaderException}
import io.circe.syntax.*
import io.circe.{Json, Printer}
import burst.invoker.runtime.RuntimeConnections.{Answer, Content}
import java.net.{ConnectException, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.actor.ClassicActorSystemProvider
import org.apache.pekko.stream.scaladsl.JavaFlowSupport
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}

/** Talks to the runtime in a container (docs/architecture/runtime.md).
  *
  * Connections are kept and reused, and no call waits for one: the streaming call has its own for as long as
  * the pack lasts. A pack may be silent for as long as its workers compute: deadlines are up to the pack. The
  * runtime receives how long a program may take to report (`startTimeout`) with the program. `maxLine` bounds
  * one event, `maxBatch` (by `weight`) how many events that arrive while earlier ones are being passed on
  * travel together.
  */
final class RuntimeClient(
    maxLine: Int,
    connectTimeout: FiniteDuration,
    startTimeout: FiniteDuration,
    maxBatch: Long = RuntimeClient.Batch
)(using
    system: ClassicActorSystemProvider
):
  import RuntimeClient.*

  // Handling an answer is little work, and is done on the thread that has read it.
  private given ExecutionContext = ExecutionContext.parasitic

  private val connections = RuntimeConnections(connectTimeout)
  system.classicSystem.registerOnTermination(() => connections.close())

  /** Starts an interpreter for programs of this kind ahead of them, if none was started yet. */
  def startInterpreter(address: RuntimeAddress, kind: String): Future[Either[Failure, Unit]] =
    val path = s"/interpreter${query(Vector("kind" -> kind))}"
    command(address, path, Json.obj(), Some(InterpreterBound))

  /** Starts a program, whose package is sent if it is not there, and waits for its hello. The caller bounds
    * the time.
    */
  def init(address: RuntimeAddress, program: FreshProgram): Future[Either[Refusal, Unit]] =
    andThen(setEnvironment(address, program.environment))(start(address, program))

  private def start(address: RuntimeAddress, program: FreshProgram): Future[Either[Refusal, Unit]] =
    val request = program.source match
      case PackageSource.Mounted(path) =>
        val value = ("path" -> path.asJson) +: program.names
        (query(timeoutParameters), json(Json.obj("value" -> Json.fromFields(value))))
      case PackageSource.Sent(archive) =>
        (query(timeoutParameters ++ program.parameters), Content.Archive(archive))
    val (parameters, content) = request
    done(post(address, s"/init$parameters", content))
      .map(_.left.map(_.after("the package did not start")))
      .recover(problem => Left(silence("package", problem)))

  /** Called before the program is started; the rest of its environment comes from the runtime. */
  private def setEnvironment(
      address: RuntimeAddress,
      environment: Environment
  ): Future[Either[Refusal, Unit]] =
    if environment.isEmpty then Future.successful(Right(()))
    else
      done(post(address, "/environment", json(environment.asJson)))
        .map(_.left.map(_.after("the runtime refused the environment variables")))
        .recover(problem => Left(silence("pack", problem)))

  private def andThen[A](first: Future[Either[Refusal, Unit]])(
      next: => Future[Either[Refusal, A]]
  ): Future[Either[Refusal, A]] = first.flatMap:
    case Right(()) => next
    case Left(refusal) => Future.successful(Left(refusal))

  /** Runs a pack, starting the program of `fresh` if none has been started yet; the caller bounds that time.
    * The caller also checks whether `PackEnded` was among the events.
    */
  def run(
      address: RuntimeAddress,
      pack: RunPack,
      fresh: Option[FreshProgram]
  ): Future[Either[Refusal, EventStream]] = fresh match
    case Some(program @ FreshProgram(PackageSource.Mounted(path), environment, _, _, _)) =>
      andThen(setEnvironment(address, environment)):
        open(address, pack, ("init" -> path) +: (timeoutParameters ++ program.parameters))
    case Some(sent) => andThen(init(address, sent))(open(address, pack, Vector.empty))
    case None => open(address, pack, Vector.empty)

  private def timeoutParameters = Vector("startTimeout" -> startTimeout.toMillis.toString)

  private def query(parameters: Vector[(String, String)]): String =
    val pairs = parameters.map((name, value) => s"$name=${URLEncoder.encode(value, UTF_8)}")
    if pairs.isEmpty then "" else pairs.mkString("?", "&", "")

  private def open(
      address: RuntimeAddress,
      pack: RunPack,
      fresh: Vector[(String, String)]
  ): Future[Either[Refusal, EventStream]] =
    val refused = if fresh.isEmpty then "the runtime refused the pack" else "the package did not start"
    post(address, s"/packs${query(fresh)}", Content.Bytes(JsonForm, pack.body))
      .map:
        case Right(body) => Right(EventStream(body, maxLine, maxBatch, weight, decodeEvent))
        case Left(refusal) => Left(refusal.after(refused))
      .recover(problem => Left(silence("pack", problem)))

  /** `endpoints` by pack id, as a JSON array with null where a pack has none. */
  def start(
      address: RuntimeAddress,
      flareId: FlareId,
      endpoints: Vector[Option[String]]
  ): Future[Either[Failure, Unit]] =
    command(address, s"/packs/${flareId.value}/start", Json.obj("endpoints" -> endpoints.asJson))

  def abort(address: RuntimeAddress, flareId: FlareId, failure: Failure): Future[Either[Failure, Unit]] =
    command(address, s"/packs/${flareId.value}/abort", failure.asJson)

  /** Lets the pack run for this long from now on; it waits for an answer no longer than that. */
  def renew(address: RuntimeAddress, flareId: FlareId, lease: FiniteDuration): Future[Either[Failure, Unit]] =
    val body = Json.obj("millis" -> lease.toMillis.asJson)
    command(address, s"/packs/${flareId.value}/lease", body, Some(lease.max(1.milli)))

  private def command(
      address: RuntimeAddress,
      path: String,
      body: Json,
      within: Option[FiniteDuration] = None
  ): Future[Either[Failure, Unit]] =
    done(post(address, path, json(body), within))
      .map(_.left.map(refusal => Failure(FailureKind.PackLost, s"the runtime refused: ${refusal.reason}")))
      .recover: problem =>
        Left(Failure(FailureKind.PackLost, s"the runtime cannot be reached: ${reason(problem)}"))

  /** Returns the answer's body, or why the runtime refused. */
  private def post(
      address: RuntimeAddress,
      path: String,
      content: Content,
      within: Option[FiniteDuration] = None
  ): Future[Either[Refusal, AnswerBody]] =
    val headers =
      Vector(
        "Authorization" -> s"Bearer ${address.token.hex}",
        Protocol.VersionsHeader -> Protocol.Runtimes.range
      )
    connections.post(address, path, headers, content, within).flatMap: answer =>
      if answer.status / 100 != 2 then
        refusal(answer.body).map(found => Left(found.getOrElse(Refusal(s"status ${answer.status}"))))
      else
        otherVersion(taken(answer)) match
          case None => Future.successful(Right(answer.body))
          case Some(refusal) =>
            answer.body.cancel()
            Future.successful(Left(refusal))

  /** Ignores the body of the answer: the end of one that has not ended yet may never come, so its connection
    * is closed.
    */
  private def done(answered: Future[Either[Refusal, AnswerBody]]): Future[Either[Refusal, Unit]] =
    answered.map(_.map(_.cancel()))

  private def taken(answer: Answer): Option[Int] =
    Option(answer.headers.get(Protocol.VersionHeader)).fold(Some(1))(_.toIntOption)

  /** Runtimes that do not send the version they chose use the first one. */
  private def otherVersion(taken: Option[Int]): Option[Refusal] =
    Option.unless(taken.exists(version => Protocol.Runtimes.common(Versions(version, version)).isDefined)):
      val version = taken.fold("none that is a number")(number => s"version $number")
      Refusal(
        s"the runtime speaks $version of the protocol between invoker and runtime, this invoker ${Protocol.Runtimes}: " +
          "use a runtime of the invoker's release"
      )

  private def json(body: Json) =
    Content.Bytes(JsonForm, ByteString.fromArrayUnsafe(Compact.print(body).getBytes(UTF_8)))

  private def decodeEvent(line: ByteString): PackEvent =
    // The cause is not shown: it may hold a user's data.
    try readFromArray[PackEvent](line.toArrayUnsafe(), MessageCodecs.Whole)
    catch case _: JsonReaderException => throw BrokenStream(StreamProblem.NotAnEvent)

  private def refusal(body: AnswerBody): Future[Option[Refusal]] =
    JavaFlowSupport.Source
      .fromPublisher(body)
      .limitWeighted(MaxReason)(_.length.toLong)
      .completionTimeout(connectTimeout)
      .runFold(Pieces.Empty)(_ + _)
      .map: data =>
        try
          val answer = readFromArray[RuntimeRefusal](data.toByteString.toArrayUnsafe(), MessageCodecs.Whole)
          // A program without workers can only have logged, whatever a runtime claims.
          val log = answer.log.collect { case line: PackEvent.Log => line.copy(worker = None) }
          Some(Refusal(answer.error, log))
        catch case _: JsonReaderException => None

  /** The refusal if a request was sent to the runtime, which never answered. */
  private def silence(what: String, problem: Throwable): Refusal =
    val reached = !Iterator.iterate(problem)(_.getCause).takeWhile(_ != null).exists:
      case _: ConnectException => true
      case _ => false
    val outcome = if reached then Refusal.Outcome.Unanswered else Refusal.Outcome.Unreached
    Refusal(s"the runtime did not take the $what: ${reason(problem)}", outcome = outcome)

  private def reason(problem: Throwable): String =
    Option(problem.getMessage).getOrElse(problem.getClass.getSimpleName)

/** A program to start: the source of its package, its environment variables, its kind and the function to
  * call.
  */
final case class FreshProgram(
    source: PackageSource,
    environment: Environment = Environment.Empty,
    kind: String = DefinitionRef.Rust,
    main: Option[String] = None,
    concurrency: Int = 1
):
  /** The parameters for the runtime, which knows the usual ones itself. */
  private[runtime] def names: Vector[(String, Json)] =
    if kind == DefinitionRef.Rust then Vector.empty
    else
      Vector("kind" -> kind.asJson) ++ main.map("main" -> _.asJson) ++
        Option.when(concurrency > 1)("concurrency" -> concurrency.asJson)

  /** The same as a query. */
  private[runtime] def parameters: Vector[(String, String)] =
    names.map((name, value) => name -> value.asString.getOrElse(value.noSpaces))

object FreshProgram:
  def of(source: PackageSource, assignment: PackAssignment): FreshProgram =
    val definition = assignment.definition
    FreshProgram(source, assignment.environment, definition.kind, definition.main, definition.concurrency)

/** Why the runtime did not do what was requested, and the output of a program that did not come up;
  * `operation` is set if the request was not even sent.
  */
final case class Refusal(
    reason: String,
    log: Vector[PackEvent] = Vector.empty,
    operation: Option[String] = None,
    outcome: Refusal.Outcome = Refusal.Outcome.Answered
):
  import Refusal.Outcome

  def after(what: String): Refusal = copy(reason = s"$what: $reason")

  def isSilence: Boolean = outcome != Outcome.Answered

  /** Whether the runtime may have carried out the request all the same. */
  def mayBeTaken: Boolean = outcome == Outcome.Unanswered

  /** A refusal by the runtime is the program's fault; its silence is not. */
  def failure: Failure =
    val kind = if isSilence then FailureKind.PackLost else FailureKind.StartFailed
    Failure(kind, reason, operation = operation)

object Refusal:
  /** The outcome of a request to the runtime. */
  enum Outcome:
    case Answered, Unreached, Unanswered

object RuntimeClient:
  private val JsonForm = "application/json"
  private val Compact = Printer.noSpaces

  /** The time in which a runtime must begin to start an interpreter. */
  private val InterpreterBound = 1.second

  /** Memory for events that travel together. */
  val Batch: Long = 512 * 1024

  /** The approximate memory of an event, in bytes. */
  private def weight(event: PackEvent): Long = 256 + (event match
    case PackEvent.Output(_, text) => text.length.toLong
    case PackEvent.WorkerSucceeded(_, output, _) => output.length.toLong
    case PackEvent.Log(_, _, line, _) => line.length.toLong
    case _ => 0)

  /** Including a program's output, with every byte of it escaped. */
  private val MaxReason = 1024L * 1024
