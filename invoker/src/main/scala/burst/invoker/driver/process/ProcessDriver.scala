package burst.invoker.driver
package process

import burst.invoker.packages.PackageForm
import burst.protocol.{Failure, FailureKind, Secret}
import java.io.IOException
import java.nio.file.{Files, Path}
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Deadline, DurationInt}
import scala.concurrent.{Await, ExecutionContext, Future, TimeoutException}
import scala.jdk.CollectionConverters.*
import scala.jdk.FutureConverters.*
import scala.util.{Success, Try}

/** Packs as child processes of this one: no isolation, for a developer's own machine. What programs may take
  * of its memory they are held to, by their runtimes.
  *
  * The runtime's standard input is a life line: it is kept open for as long as the pack may live, and the
  * runtime exits when it closes, so that not even `kill -9` of the platform leaves a process behind.
  *
  * `blocking` runs what waits: one thread per live process reads its output.
  */
final class ProcessDriver(settings: ProcessSettings, blocking: ExecutionContext) extends Driver:
  private given ExecutionContext = blocking
  private val log = LoggerFactory.getLogger(classOf[ProcessDriver])
  private val live = ConcurrentHashMap.newKeySet[Process]()

  def name = "process"
  def isLocal = true
  def packageForm = PackageForm.Directory
  def limits =
    "the program of each pack is held to its workers' memory (RLIMIT_DATA); processors, disk and the number of " +
      "processes are not limited"
  def reserves = false

  def start(resources: PackResources): Future[Either[Failure, Container]] =
    launch(sourceOf(resources))

  /** A process sees the whole machine: it needs to be told nothing but where the package is. */
  def prewarm(workers: Int, memoryMiB: Int): Future[Either[Failure, Container]] =
    launch(PackageSource.Mounted(""))

  def open(): Unit = ()
  def connect(container: Container, access: NetworkAccess): Future[Either[Failure, Unit]] =
    Future.successful(Right(()))
  def disconnect(container: Container): Unit = ()

  def confine(container: Container): Unit = ()

  def adopt(container: Container, resources: PackResources): Future[Option[Container]] =
    Future.successful(container match
      case own: ProcessContainer if own.process.isAlive =>
        Some(ProcessContainer(own.process, own.address, sourceOf(resources)))
      case _ => None)

  /** The kernel counts what the workers' stacks may come to, used or not, and the program has something of
    * its own.
    */
  def programMemory(workers: Int, memoryMiB: Int): Option[Long] =
    Some(workers.toLong * (memoryMiB + settings.memoryPerWorker) + settings.memoryOverhead)

  def throttle(container: Container, workers: Int): Future[Boolean] = Future.successful(true)

  private def sourceOf(resources: PackResources) = PackageSource.Mounted(resources.packagePath.toString)

  private def launch(source: PackageSource): Future[Either[Failure, Container]] = Future:
    try
      val token = Secret.random()
      val process = spawn(token)
      val output = RuntimeOutput(s"runtime ${process.pid}", process.getInputStream)
      drainInBackground(process.pid, output)
      awaitListening(process, output).map: (host, port) =>
        val address = RuntimeAddress(host, port, token)
        live.add(process)
        ProcessContainer(process, address, source)
    catch case problem: IOException => Left(startFailed(s"the runtime did not start: ${problem.getMessage}"))

  /** What it may have its runtime is told with each flare; one that has kept too much is refused then. */
  def resize(container: Container, resources: PackResources): Future[Boolean] = Future.successful(true)

  def stop(container: Container): Future[StopOutcome] = container match
    case own: ProcessContainer =>
      Future(end(own.process))
    case _ => Future.successful(StopOutcome.Gone)

  /** A life line leaves no orphans. */
  def removeOrphans(): Future[Int] = Future.successful(0)

  def close(): Future[Unit] =
    Future.traverse(live.asScala.toVector)(process => Future(end(process))).map(_ => ())

  private def end(process: Process): StopOutcome =
    val outcome = terminate(process)
    if outcome == StopOutcome.Gone then live.remove(process)
    outcome

  private def spawn(token: Secret): Process =
    val builder = ProcessBuilder(settings.runtimeBinary.toString, "serve", "--listen", "127.0.0.1:0")
    val environment = builder.environment()
    environment.keySet.retainAll(settings.environment.asJava)
    environment.put(RuntimeAddress.TokenVariable, token.hex)
    builder.redirectErrorStream(true).start()

  private def awaitListening(process: Process, output: RuntimeOutput): Either[Failure, (String, Int)] =
    Try(Await.result(output.address, settings.startTimeout)) match
      case Success(address) => Right(address)
      case scala.util.Failure(problem) =>
        val _ = terminate(process)
        val reason = problem match
          case _: TimeoutException => s"it did not listen within ${settings.startTimeout}"
          case _ => s"it ended with code ${Try(process.exitValue).getOrElse(-1)}"
        Left(startFailed((s"the runtime did not come up: $reason" +: output.lastLines).mkString("; ")))

  /** Asks, then forces; answers when the runtime and all below it are gone. The descendants are listed first:
    * once their parent is gone nobody could tell whose they were.
    */
  private def terminate(process: Process): StopOutcome =
    val descendants = process.descendants().iterator.asScala.toVector
    process.destroy()
    if !process.waitFor(settings.stopGrace.toMillis, TimeUnit.MILLISECONDS) then
      process.destroyForcibly()
      process.waitFor(ForcedBound.toMillis, TimeUnit.MILLISECONDS)
    Try(process.getOutputStream.close())
    descendants.foreach(handle => if handle.isAlive then handle.destroyForcibly())
    val bound = ForcedBound.fromNow
    val left = Option.when(process.isAlive)(process.pid).toVector ++
      descendants.filterNot(awaitGone(_, bound)).map(_.pid)
    if left.isEmpty then StopOutcome.Gone
    else
      log.error("processes {} do not end, not even by SIGKILL", left.mkString(", "))
      StopOutcome.StillThere(s"processes ${left.mkString(", ")} do not end")

  private def awaitGone(handle: ProcessHandle, bound: Deadline): Boolean =
    def gone = !handle.isAlive || isZombie(handle.pid)
    while !gone && bound.hasTimeLeft() do TimeUnit.MILLISECONDS.sleep(2)
    gone

  /** A process that has ended but whose new parent does not care: it holds nothing any more. */
  private def isZombie(pid: Long): Boolean =
    Try(Files.readString(Path.of(s"/proc/$pid/stat"))).toOption
      .map(stat => stat.substring(stat.lastIndexOf(')') + 1).trim)
      .exists(_.startsWith("Z"))

  private def startFailed(message: String): Failure = Failure(FailureKind.StartFailed, message)

  private val ForcedBound = 3.seconds

  private def drainInBackground(pid: Long, output: RuntimeOutput): Unit =
    val reader = Thread(() => output.drain(), s"runtime-output-$pid")
    reader.setDaemon(true)
    reader.start()

private final class ProcessContainer(
    val process: Process,
    val address: RuntimeAddress,
    val source: PackageSource
) extends Container:
  def id: String = process.pid.toString

  val exit: Future[ContainerExit] =
    process.onExit.asScala.map(ended => ContainerExit(Some(ended.exitValue), oomKilled = false))(using
      ExecutionContext.parasitic
    )
