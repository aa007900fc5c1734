package burst.invoker.driver
package process

import burst.invoker.packages.PackageForm
import burst.protocol.{Failure, Secret}
import java.io.IOException
import java.util.concurrent.ConcurrentHashMap
import scala.concurrent.{ExecutionContext, Future}
import scala.jdk.CollectionConverters.*

/** Packs as child processes of this one: no isolation, for a developer's own machine. Their runtimes hold
  * programs to their memory limits.
  *
  * `blocking` runs blocking work: one thread per live process reads its output.
  */
final class ProcessDriver(settings: ProcessSettings, blocking: ExecutionContext) extends Driver:
  private given ExecutionContext = blocking
  private val live = ConcurrentHashMap.newKeySet[RuntimeProcess]()

  def name = ProcessKind.name
  def isLocal = true
  def packageForm = PackageForm.Directory
  def limits =
    "the program of each pack is held to its workers' memory (RLIMIT_DATA); processors, disk and the number of " +
      "processes are not limited"
  def reserves = false

  def start(resources: PackResources): Future[Either[Failure, Container]] = resources.base match
    case ContainerBase.Image(image) => Future.successful(Left(ContainerBase.unsupported(image, name)))
    case _ => launch(sourceOf(resources))

  /** A process sees the whole machine: all it needs to receive is the location of the package. */
  def prewarm(workers: Int, memoryMiB: Int): Future[Either[Failure, Container]] =
    launch(PackageSource.Mounted(""))

  def adopt(container: Container, resources: PackResources): Future[Option[Container]] =
    Future.successful(container match
      case own: ProcessContainer if own.process.isAlive =>
        Some(ProcessContainer(own.process, own.address, sourceOf(resources)))
      case _ => None)

  override def programMemory(workers: Int, memoryMiB: Int): Option[Long] =
    Some(settings.program.mebibytes(workers, memoryMiB))

  def throttle(container: Container, workers: Int): Future[Boolean] = Future.successful(true)

  private def sourceOf(resources: PackResources) = PackageSource.Mounted(resources.packagePath.toString)

  private def launch(source: PackageSource): Future[Either[Failure, Container]] = Future:
    try
      val token = Secret.random()
      val process = RuntimeProcess.start(
        Vector(settings.runtimeBinary.toString, "serve", "--listen", "127.0.0.1:0"),
        settings.environment,
        Map(RuntimeAddress.TokenVariable -> token.hex),
        settings.stopGrace
      )
      live.add(process)
      process
        .awaitListening(settings.startTimeout)
        .map((host, port) => ProcessContainer(process, RuntimeAddress(host, port, token), source))
        .left
        .map: failure =>
          val _ = end(process)
          failure
    catch case problem: IOException => Left(RuntimeProcess.refused(problem))

  /** The runtime receives the program's limits with each flare; a program that has kept too much memory is
    * refused then.
    */
  def resize(container: Container, resources: PackResources): Future[Boolean] = Future.successful(true)

  def stop(container: Container): Future[StopOutcome] = container match
    case own: ProcessContainer => Future(end(own.process))
    case _ => Future.successful(StopOutcome.Stopped)

  /** A life line leaves no orphans behind. */
  def removeOrphans(): Future[Int] = Future.successful(0)

  def close(): Future[Unit] =
    Future.traverse(live.asScala.toVector)(process =>
      Future(end(process)).flatMap(_.settled(StopOutcome.LingerTimeout))
    ).map(_ => ())

  private def end(process: RuntimeProcess): StopOutcome =
    val below = process.descendants
    process.end(below) match
      case StopOutcome.Stopped =>
        live.remove(process)
        StopOutcome.Stopped
      case StopOutcome.NotStopped(reason, _) =>
        val stopped = EndRetry.ended(process.end(below) == StopOutcome.Stopped)
        StopOutcome.NotStopped(reason, stopped.map(_ => live.remove(process)).map(_ => ()))

private final class ProcessContainer(
    val process: RuntimeProcess,
    val address: RuntimeAddress,
    val source: PackageSource
) extends Container:
  def id: String = process.id

  val exit: Future[ContainerExit] =
    process.exitCode.map(code => ContainerExit(Some(code), oomKilled = false))(using
      ExecutionContext.parasitic
    )
