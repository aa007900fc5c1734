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

/** A child process of this one that serves a pack, or has a child that does.
  *
  * Its standard input is a life line: it is kept open for as long as the pack may live, and the process ends
  * when it closes, so that not even `kill -9` of the platform leaves a process behind. After `grace` it is
  * killed.
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

  /** Whether it has ended with code 0. */
  def succeeded: Boolean = !process.isAlive && process.exitValue == 0

  /** All processes below it: once their parent is gone nobody can determine whose they were. */
  def descendants: Vector[ProcessHandle] = process.descendants().iterator.asScala.toVector

  /** Writes a line to its standard input. Throws `IOException` if nobody reads that any more. */
  def writeLine(line: String): Unit =
    val input = process.getOutputStream
    input.write(s"$line\n".getBytes(UTF_8))
    input.flush()

  /** Waits until its runtime listens, and returns where. Blocks. If it fails the process may still exist, and
    * has to be ended.
    */
  def awaitListening(timeout: FiniteDuration): Either[Failure, (String, Int)] =
    Try(StallTolerantAwait.result(output.address, timeout)) match
      case Success(address) => Right(address)
      case scala.util.Failure(problem) =>
        val reason = problem match
          case _: TimeoutException => s"it did not listen within $timeout"
          case _ => s"it ended with code ${Try(Await.result(exitCode, grace)).getOrElse(-1)}"
        Left(Driver.startFailed((s"the runtime did not come up: $reason" +: output.lastLines).mkString("; ")))

  /** Asks the process to end, then kills it; returns when it and those `below` it, as determined when it is
    * gone, are gone as well. Blocks. Can be called at any time, also concurrently.
    */
  def end(below: => Vector[ProcessHandle]): StopOutcome =
    Try(process.getOutputStream.close())
    if !process.waitFor(grace.toMillis, TimeUnit.MILLISECONDS) then
      process.destroyForcibly()
      process.waitFor(ForcedBound.toMillis, TimeUnit.MILLISECONDS)
    val others = below
    others.foreach(handle => if handle.isAlive then handle.destroyForcibly())
    val bound = ForcedBound.fromNow
    val remaining =
      Option.when(process.isAlive)(pid).toVector ++ others.filterNot(awaitEnd(_, bound)).map(_.pid)
    if remaining.isEmpty then StopOutcome.Stopped
    else
      log.error("processes {} do not end, not even by SIGKILL", remaining.mkString(", "))
      StopOutcome.NotStopped(s"processes ${remaining.mkString(", ")} do not end")

  private def awaitEnd(handle: ProcessHandle, bound: Deadline): Boolean =
    def ended = !handle.isAlive || isZombie(handle.pid)
    while !ended && bound.hasTimeLeft() do TimeUnit.MILLISECONDS.sleep(2)
    ended

  /** Whether it is a process that has ended but that its new parent has not waited for: it holds no resources
    * once none of its threads runs; the first thread may end before the others.
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
      // Nobody has waited for it yet, or just now.
      .forall(state => state.startsWith("Z") || state.startsWith("X"))

  private def drainInBackground(): Unit =
    val reader = Thread(() => output.drain(), s"runtime-output-$pid")
    reader.setDaemon(true)
    reader.start()

private[driver] object RuntimeProcess:
  private val ForcedBound = 3.seconds

  /** Starts a process with those variables of the platform's environment that are `visible` to it, and
    * `variables`. Throws `IOException`.
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

  /** The failure if the process cannot be run at all. */
  def refused(problem: IOException): Failure =
    Driver.startFailed(s"the runtime did not start: ${problem.getMessage}")
