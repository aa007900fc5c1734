package burst.invoker.driver

import burst.invoker.packages.PackageForm
import burst.node.SetupException
import burst.protocol.{Failure, FailureKind, RuntimeInfo, Secret}
import com.github.dockerjava.api.DockerClient
import com.github.dockerjava.api.exception.{
  ConflictException,
  InternalServerErrorException,
  NotFoundException
}
import java.io.IOException
import java.net.{InetSocketAddress, Socket}
import java.nio.file.{Files, Path}
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import org.slf4j.LoggerFactory
import scala.annotation.tailrec
import scala.concurrent.duration.{Deadline, DurationInt}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal
import scala.util.{Try, Using}

/** Packs as containers of a Docker daemon on this machine, limited to what their size allows.
  *
  * From request to listening runtime there are three calls to the daemon, the fewest there can be: create,
  * start, and one inspect for the address. Each container is then watched by a call that answers when it
  * exits.
  *
  * A container's mounts are fixed when it is created, so a pre-warmed one gets an empty directory of its own
  * where others have their package, and on adoption the package's files by hard links: no byte is copied, and
  * it sees no other package. Its limits are those of a pack of `slots` workers, since to change them takes
  * the daemon longer than to start a program: what a pack is not to have is taken away while its program
  * starts.
  *
  * `owner` marks this invoker's containers; `blanks` holds the directories of pre-warmed ones, on the file
  * system of the packages; `blocking` runs the calls, which wait for the daemon.
  */
final class DockerDriver(
    settings: DockerSettings,
    owner: String,
    daemon: DockerDaemon,
    blanks: Path,
    blocking: ExecutionContext
) extends Driver:
  import DockerDriver.*

  private given ExecutionContext = blocking
  private val log = LoggerFactory.getLogger(classOf[DockerDriver])
  private val live = ConcurrentHashMap.newKeySet[DockerContainer]()
  private val removals = ConcurrentHashMap.newKeySet[Future[StopOutcome]]()
  private def docker: DockerClient = daemon.calls

  def name = "docker"
  def isLocal = true
  def packageForm = PackageForm.Directory
  def limits = "containers are held to the processors, memory and number of processes of their packs' workers"
  def programMemory(workers: Int, memoryMiB: Int): Option[Long] = None
  def reserves = false

  def start(resources: PackResources): Future[Either[Failure, Container]] =
    Future(launch(resources, blank = None))

  def prewarm(workers: Int, memoryMiB: Int): Future[Either[Failure, Container]] = Future:
    try
      Files.createDirectories(blanks)
      val directory = Files.createTempDirectory(blanks, "blank")
      Files.setPosixFilePermissions(directory, PackageFiles.Readable)
      launch(PackResources(workers, memoryMiB, directory), Some(directory))
    catch case problem: IOException => Left(startFailed(s"no directory for a package: ${reason(problem)}"))

  def adopt(container: Container, resources: PackResources): Future[Option[Container]] = container match
    case own: DockerContainer =>
      Future(own.blank.foreach(PackageFiles.link(resources.packagePath, _)))
        .flatMap: _ =>
          own.needed = limits(resources)
          if own.limits.current.allows(own.needed) then Future.successful(!own.exit.isCompleted)
          else changed(own, own.needed)
        .map(Option.when(_)(own))
        .recover:
          case problem: IOException =>
            log.warn("container {} cannot be given a package: {}", own.id, reason(problem))
            None
    case _ => Future.successful(None)

  def confine(container: Container): Unit = container match
    case own: DockerContainer =>
      change(own, own.needed).foreach:
        case Change.Made => ()
        case _ if own.exit.isCompleted => ()
        case outcome =>
          log.warn("container {} is killed: it cannot be held to its pack's limits", own.id)
          val _ = own.ended.trySuccess(ContainerExit(None, oomKilled = outcome == Change.Refused))
          stop(own)
    case _ => ()

  private def launch(resources: PackResources, blank: Option[Path]): Either[Failure, Container] =
    try
      val token = Secret.random()
      val allowed = limits(resources)
      val id = create(resources, allowed, token)
      try
        docker.startContainerCmd(id).exec()
        val address = RuntimeAddress(addressOf(id), ContainerSpec.Port, token)
        val container = DockerContainer(id, address, allowed, ended(id), blank)
        live.add(container)
        awaitListening(container).map(_ => container).left.map: failure =>
          val _ = remove(container)
          failure
      catch
        case NonFatal(problem) =>
          val _ = removeById(id)
          throw problem
    catch
      case NonFatal(problem) =>
        blank.foreach(PackageFiles.delete)
        Left(startFailed(s"Docker refused the container: ${reason(problem)}"))

  def throttle(container: Container, workers: Int): Future[Boolean] = container match
    case own: DockerContainer =>
      val cpus = ContainerSpec.nanoCpus(settings, daemon.cpus, workers)
      changed(own, own.limits.current.copy(nanoCpus = cpus))
    case _ => Future.successful(false)

  def resize(container: Container, resources: PackResources): Future[Boolean] = container match
    case own: DockerContainer => changed(own, limits(resources))
    case _ => Future.successful(false)

  private def limits(resources: PackResources) = ContainerSpec.limits(settings, daemon.cpus, resources)

  private def changed(container: DockerContainer, wanted: ContainerLimits): Future[Boolean] =
    // The daemon changes dead ones too, until they are removed.
    change(container, wanted).map(_ == Change.Made && !container.exit.isCompleted)

  private def change(container: DockerContainer, wanted: ContainerLimits): Future[Change] =
    container.limits.change(wanted): current =>
      val update = docker.updateContainerCmd(container.id)
      if wanted.nanoCpus != current.nanoCpus then update.withNanoCPUs(wanted.nanoCpus)
      if wanted.memory != current.memory then update.withMemory(wanted.memory).withMemorySwap(wanted.memory)
      if wanted.pids != current.pids then update.withPidsLimit(wanted.pids)
      try
        update.exec()
        Change.Made
      catch
        case NonFatal(problem) =>
          log.debug("container {} cannot be resized: {}", container.id, reason(problem))
          problem match
            case _: InternalServerErrorException => Change.Refused
            case _ => Change.Failed

  def stop(container: Container): Future[StopOutcome] = container match
    case own: DockerContainer =>
      Future(kill(own.id)).flatMap: dead =>
        val removal = Future(remove(own))
        // Its processors and memory are free as soon as it is dead; the daemon takes much longer to remove it.
        if dead then
          removals.add(removal)
          removal.onComplete(_ => removals.remove(removal))
          Future.successful(StopOutcome.Gone)
        else removal
    case _ => Future.successful(StopOutcome.Gone)

  def removeOrphans(): Future[Int] =
    Future(
      docker.listContainersCmd().withShowAll(true).withLabelFilter(List(s"$OwnerLabel=$owner").asJava).exec()
    ).map(_.asScala.map(_.getId).toVector)
      .recover: problem =>
        log.error("cannot look for containers of an earlier run: {}", reason(problem))
        Vector.empty
      .flatMap(ids => Future.traverse(ids)(id => Future(removeById(id))))
      .map: removed =>
        PackageFiles.delete(blanks)
        removed.size

  def close(): Future[Unit] =
    for
      _ <- Future.traverse(live.asScala.toVector)(stop)
      _ <- Future.sequence(removals.asScala.toVector)
    yield daemon.close()

  private def create(resources: PackResources, allowed: ContainerLimits, token: Secret): String =
    docker
      .createContainerCmd(settings.image)
      .withName(s"burst-${owner.take(8)}-${java.lang.Long.toHexString(System.nanoTime)}")
      .withCmd("serve", "--listen", s"0.0.0.0:${ContainerSpec.Port}", "--keep-open")
      .withUser(settings.user)
      .withEnv(s"${RuntimeAddress.TokenVariable}=${token.hex}")
      .withLabels(Map(OwnerLabel -> owner).asJava)
      .withHostConfig(ContainerSpec.hostConfig(settings, resources.packagePath, allowed))
      .exec()
      .getId

  private def addressOf(id: String): String =
    val networks = docker.inspectContainerCmd(id).exec().getNetworkSettings.getNetworks
    Option(networks.get(settings.network))
      .orElse(networks.values.asScala.headOption)
      .flatMap(network => Option(network.getIpAddress))
      .filter(_.nonEmpty)
      .getOrElse(throw IOException(s"network '${settings.network}' gave the container no address"))

  /** The daemon answers before the runtime has bound its port: tries until a connection is accepted. */
  private def awaitListening(container: DockerContainer): Either[Failure, Unit] =
    val deadline = settings.startTimeout.fromNow
    val address = InetSocketAddress(container.address.host, container.address.port)
    @tailrec def attempt(): Either[Failure, Unit] =
      val connected = Using(Socket())(_.connect(address, ConnectTimeout.toMillis.toInt)).isSuccess
      if connected then Right(())
      else
        container.exit.value match
          case Some(exit) =>
            Left(startFailed(s"the container's runtime did not come up: it ${ContainerExit.of(exit).how}"))
          case None if deadline.isOverdue() =>
            Left(startFailed(s"the container's runtime did not listen within ${settings.startTimeout}"))
          case None =>
            TimeUnit.MILLISECONDS.sleep(RetryPause.toMillis)
            attempt()
    attempt()

  private def ended(id: String): Promise[ContainerExit] =
    val exit = Promise[ContainerExit]()
    daemon.awaitExit(id, exit)
    exit

  /** Whether it is dead now: the daemon answers a kill when the container has ended. */
  private def kill(id: String): Boolean =
    Try(docker.killContainerCmd(id).exec()) match
      case scala.util.Success(_) => true
      case scala.util.Failure(_: NotFoundException | _: ConflictException) => true // it had ended before
      case scala.util.Failure(problem) =>
        log.warn("container {} cannot be killed, removing it by force: {}", id, reason(problem))
        false

  private def remove(container: DockerContainer): StopOutcome =
    val outcome = removeById(container.id)
    if outcome == StopOutcome.Gone then
      live.remove(container)
      container.blank.foreach(PackageFiles.delete)
      container.ended.trySuccess(ContainerExit(None, oomKilled = false))
    outcome

  private def removeById(id: String): StopOutcome =
    val deadline = RemoveBound.fromNow
    @tailrec def attempt(): StopOutcome =
      Try(docker.removeContainerCmd(id).withForce(true).withRemoveVolumes(true).exec()) match
        case scala.util.Success(_) => StopOutcome.Gone
        case scala.util.Failure(_: NotFoundException) => StopOutcome.Gone
        case scala.util.Failure(_: ConflictException) if awaitRemoved(id, deadline) => StopOutcome.Gone
        case scala.util.Failure(problem) if deadline.isOverdue() =>
          log.error("container {} cannot be removed: {}", id, reason(problem))
          StopOutcome.StillThere(s"container ${id.take(12)} cannot be removed: ${reason(problem)}")
        case scala.util.Failure(_) =>
          TimeUnit.MILLISECONDS.sleep(100)
          attempt()
    attempt()

  /** Somebody else is removing it already: waits until that is done. */
  private def awaitRemoved(id: String, deadline: Deadline): Boolean =
    def gone =
      Try(docker.inspectContainerCmd(id).exec()).failed.toOption.exists(_.isInstanceOf[NotFoundException])
    while !gone && deadline.hasTimeLeft() do TimeUnit.MILLISECONDS.sleep(10)
    gone

  private def startFailed(message: String): Failure = Failure(FailureKind.StartFailed, message)

object DockerDriver:
  private[driver] val OwnerLabel = "burst.owner"
  private val ConnectTimeout = 250.millis
  private val RetryPause = 2.millis
  private val RemoveBound = 15.seconds

  private[driver] def reason(problem: Throwable): String =
    Option(problem.getMessage).getOrElse(problem.getClass.getSimpleName).linesIterator.take(2).mkString(" ")

  /** What the image's labels say its packages must be built for. */
  def runtimeInfo(image: String, labels: Map[String, String]): RuntimeInfo =
    (labels.get("burst.arch"), labels.get("burst.glibc")) match
      case (Some(arch), Some(glibc)) => RuntimeInfo(arch, glibc)
      case _ =>
        throw SetupException(
          s"image '$image' lacks the labels burst.arch and burst.glibc: build it by deploy/runtime/build.sh."
        )
