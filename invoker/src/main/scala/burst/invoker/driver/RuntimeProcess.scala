package burst.invoker.driver

import burst.protocol.Failure
import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Deadline, DurationInt, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future, TimeoutException}
import scala.jdk.CollectionConverters.*
import scala.jdk.FutureConverters.*
import scala.util.{Success, Try, Using}

/** A child process of this one that serves a pack, or has one that does.
  *
  * Its standard input is a life line: it is kept open for as long as the pack may live, and the process ends
  * when it closes, so that not even `kill -9` of the platform leaves a process behind. `grace` is how long
  * that may take before it is killed.
  */
private[driver] final class RuntimeProcess private (process: Process, grace: FiniteDuration):
  import RuntimeProcess.*

  private val log = LoggerFactory.getLogger(classOf[RuntimeProcess])
  private val pid = process.pid

  val output: RuntimeOutput = RuntimeOutput(s"runtime $pid", process.getInputStream)
  drainInBackground()

  def id: String = pid.toString
  def isAlive: Boolean = process.isAlive

  val exitCode: Future[Int] = process.onExit.asScala.map(_.exitValue)(using ExecutionContext.parasitic)

  /** Whether it has ended, and has nothing to complain of. */
  def endedWell: Boolean = !process.isAlive && process.exitValue == 0

  /** All processes below it: once their parent is gone nobody can tell whose they were. */
  def descendants: Vector[ProcessHandle] = process.descendants().iterator.asScala.toVector

  /** Tells it something by its standard input. Throws `IOException` if nobody reads that any more. */
  def say(line: String): Unit =
    val input = process.getOutputStream
    input.write(s"$line\n".getBytes(UTF_8))
    input.flush()

  /** Where its runtime listens. Blocks. One that has not come up may still be there, to be ended. */
  def awaitListening(timeout: FiniteDuration): Either[Failure, (String, Int)] =
    Try(PatientAwait.result(output.address, timeout)) match
      case Success(address) => Right(address)
      case scala.util.Failure(problem) =>
        val reason = problem match
          case _: TimeoutException => s"it did not listen within $timeout"
          case _ => s"it ended with code ${Try(Await.result(exitCode, grace)).getOrElse(-1)}"
        Left(Driver.startFailed((s"the runtime did not come up: $reason" +: output.lastLines).mkString("; ")))

  /** Asks, then forces; answers when it and those `below` it, as they are known when it is gone, are gone as
    * well. Blocks. May be called at any time, and together.
    */
  def end(below: => Vector[ProcessHandle]): StopOutcome =
    Try(process.getOutputStream.close())
    if !process.waitFor(grace.toMillis, TimeUnit.MILLISECONDS) then
      process.destroyForcibly()
      process.waitFor(ForcedBound.toMillis, TimeUnit.MILLISECONDS)
    val others = below
    others.foreach(handle => if handle.isAlive then handle.destroyForcibly())
    val bound = ForcedBound.fromNow
    val left = Option.when(process.isAlive)(pid).toVector ++ others.filterNot(awaitGone(_, bound)).map(_.pid)
    if left.isEmpty then StopOutcome.Gone
    else
      log.error("processes {} do not end, not even by SIGKILL", left.mkString(", "))
      StopOutcome.StillThere(s"processes ${left.mkString(", ")} do not end")

  private def awaitGone(handle: ProcessHandle, bound: Deadline): Boolean =
    def gone = !handle.isAlive || isZombie(handle.pid)
    while !gone && bound.hasTimeLeft() do TimeUnit.MILLISECONDS.sleep(2)
    gone

  /** A process that has ended but whose new parent does not care: it holds nothing any more, once no thread
    * of it runs, of which the first may have ended before the others.
    */
  private def isZombie(pid: Long): Boolean =
    Try:
      Using.resource(Files.newDirectoryStream(Path.of(s"/proc/$pid/task")))(
        _.iterator.asScala.forall(hasEnded)
      )
    .getOrElse(false)

  private def hasEnded(task: Path): Boolean =
    Try(Files.readString(task.resolve("stat"))).toOption
      .map(stat => stat.substring(stat.lastIndexOf(')') + 1).trim)
      // Waited for by nobody yet, or just now.
      .forall(state => state.startsWith("Z") || state.startsWith("X"))

  private def drainInBackground(): Unit =
    val reader = Thread(() => output.drain(), s"runtime-output-$pid")
    reader.setDaemon(true)
    reader.start()

private[driver] object RuntimeProcess:
  private val ForcedBound = 3.seconds

  /** Starts it with those variables of the platform's environment that it may see, and others. Throws
    * `IOException`.
    */
  def start(
      command: Vector[String],
      visible: Vector[String],
      variables: Map[String, String],
      grace: FiniteDuration
  ): RuntimeProcess =
    val builder = ProcessBuilder(command*)
    val environment = builder.environment()
    environment.keySet.retainAll(visible.asJava)
    environment.putAll(variables.asJava)
    RuntimeProcess(builder.redirectErrorStream(true).start(), grace)

  /** It cannot be run at all. */
  def refused(problem: IOException): Failure =
    Driver.startFailed(s"the runtime did not start: ${problem.getMessage}")
