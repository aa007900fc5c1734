package burst.controller.http

import burst.controller.scheduler.FlareService
import burst.controller.store.{Blocking, Storage}
import com.typesafe.config.Config
import io.circe.Json
import io.circe.syntax.*
import java.nio.file.{Files, Path}
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.http.scaladsl.model.{HttpResponse, StatusCodes}
import org.apache.pekko.pattern.after
import org.slf4j.LoggerFactory
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.{Deadline, DurationInt, FiniteDuration}
import scala.jdk.DurationConverters.*
import scala.util.control.NonFatal

/** Whether this controller can take flares now, for clients and for whatever routes requests to it: each part
  * that it needs is probed. Anyone may ask: only one probe runs at a time, for all callers, and at most once
  * a second.
  */
final class Readiness(parts: Vector[Readiness.Part], timeout: FiniteDuration)(using system: ActorSystem[?]):
  import Readiness.*
  import system.executionContext

  private var tried = Deadline.now - Pause
  private var trials: Vector[Trial] = Vector.empty

  def answer(): Future[HttpResponse] =
    Future
      .traverse(trial()): trial =>
        val late =
          after(timeout)(Future.successful(Some(s"it has not answered within ${timeout.toCoarsest}")))
        Future.firstCompletedOf(Seq(trial.outcome, late)).map(trial.part -> _)
      .map: outcomes =>
        val isReady = outcomes.forall((_, problem) => problem.isEmpty)
        val fields = outcomes.map((part, problem) => part -> problem.getOrElse("ok").asJson)
        val status = if isReady then StatusCodes.OK else StatusCodes.ServiceUnavailable
        JsonMarshalling.response(status, Json.fromFields(("ready" -> isReady.asJson) +: fields))

  /** Returns the current probes; starts new ones only when all earlier ones have completed. */
  private def trial(): Vector[Trial] = synchronized:
    if tried + Pause <= Deadline.now && trials.forall(_.outcome.isCompleted) then
      tried = Deadline.now
      trials = parts.map(part => Trial(part.name, outcome(part)))
    trials

  private def outcome(part: Part): Future[Option[String]] =
    Future.delegate(part.problem()).recover:
      case NonFatal(problem) =>
        // Anyone may read the answer; the details are for the operator.
        log.warn("not ready: {}: {}", part.name, problem.toString)
        Some("it fails; see the controller's log")

object Readiness:
  private val log = LoggerFactory.getLogger(classOf[Readiness])
  private val Pause = 1.second

  /** A part to probe. `problem` returns a sentence that anyone may read, or nothing if all is well; it may
    * fail.
    */
  final case class Part(name: String, problem: () => Future[Option[String]])

  private final case class Trial(part: String, outcome: Future[Option[String]])

  /** `burst.http.ready`. */
  final case class Settings(timeout: FiniteDuration, minFree: Long)

  object Settings:
    def from(config: Config): Settings =
      Settings(config.getDuration("patience").toScala, config.getBytes("least-free"))

  /** Returns the readiness of a controller whose data is in `directory`, and which may be stopping. */
  def of(
      settings: Settings,
      storage: Storage,
      directory: Path,
      service: FlareService,
      blocking: Blocking,
      isStopping: () => Boolean
  )(using system: ActorSystem[?]): Readiness =
    import system.executionContext
    Readiness(
      Vector(
        Part("database", () => blocking(storage.epochs.present()).map(_ => None)),
        Part("blobs", () => Apart(storage.blobs.probe()).map(_ => None)),
        Part("disk", () => blocking(diskProblem(directory, settings.minFree))),
        Part("scheduler", () => service.invokers().map(_ => None)),
        Part("process", () => Future.successful(Option.when(isStopping())("it is about to stop")))
      ),
      settings.timeout
    )

  /** Runs each probe on a thread of its own: a bucket that hangs delays nothing else. */
  private val Apart = Blocking(ExecutionContext.fromExecutor: work =>
    val thread = Thread(work, "burst-blob-probe")
    thread.setDaemon(true)
    thread.start())

  private[http] def diskProblem(directory: Path, least: Long): Option[String] =
    if !Files.isWritable(directory) then Some("its directory cannot be written to")
    else
      val free = Files.getFileStore(directory).getUsableSpace
      Option.when(free < least)(s"${free >> 20} MiB are free, and ${least >> 20} are needed")
