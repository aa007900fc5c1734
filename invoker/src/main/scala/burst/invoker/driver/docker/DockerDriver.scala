package burst.invoker.driver
package docker

import burst.invoker.packages.PackageForm
import burst.node.SetupException
import burst.protocol.{Failure, RuntimeInfo, Secret}
import com.github.dockerjava.api.DockerClient
import java.io.IOException
import java.net.{InetSocketAddress, Socket}
import java.nio.file.{Files, Path}
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}
import org.slf4j.LoggerFactory
import scala.annotation.tailrec
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters.*
import scala.util.control.NonFatal
import scala.util.Using

/** Packs as containers of a Docker daemon on this machine, with limits by their size.
  *
  * From request to listening runtime there are three calls to the daemon, the fewest possible: create, start,
  * and one inspect for the address. Each container is then watched by a call that returns when it exits.
  *
  * A container's mounts are fixed when it is created, so a pre-warmed one gets an empty directory of its own
  * where others have their package, and on adoption the package's files by hard links: no byte is copied, and
  * it sees no other package. Its limits are those of a pack of `slots` workers, since changing them takes the
  * daemon longer than starting a program: what a pack must not have is taken away while its program starts.
  *
  * In an image of a user's own the runtime runs as well, from `files`, as the container's first process.
  *
  * `owner` marks this invoker's containers; `blanks` holds the directories of pre-warmed ones, on the file
  * system of the packages; `pulled` lists the images that were pulled; `containers` is their maximum number;
  * `backends` finds the servers of backends; `blocking` runs the calls, which wait for the daemon.
  * `closeTimeout` is how long it may take until a container reaches nothing of its last flare, or of the
  * container that had its address before: less than a flare's program may take to begin. A pre-warmed
  * container that takes longer is replaced.
  */
final class DockerDriver(
    settings: DockerSettings,
    owner: String,
    daemon: DockerDaemon,
    files: RuntimeFiles,
    blanks: Path,
    pulled: Path,
    containers: Int,
    backends: BackendServers,
    blocking: ExecutionContext,
    closeTimeout: FiniteDuration = 5.seconds
) extends Driver:
  import Driver.startFailed
  import DockerDriver.*

  private given ExecutionContext = blocking
  private val log = LoggerFactory.getLogger(classOf[DockerDriver])
  private val live = ConcurrentHashMap.newKeySet[DockerContainer]()
  private val removals = ConcurrentHashMap.newKeySet[Future[StopOutcome]]()
  private val network = PackNetwork(settings, owner, daemon, blanks, containers)
  private def docker: DockerClient = daemon.calls
  private val users = ContainerUsers(settings.users)
  private val held = DockerLimits(docker)
  private val removal = ContainerRemoval(docker)
  private val images = UserImages(settings.images, daemon, pulled)

  def name = DockerKind.name
  def isLocal = true
  def packageForm = PackageForm.Directory
  def limits =
    "containers are held to the processors, memory and number of processes of their packs' workers, and have " +
      "users of their own; " +
      (if network.isIsolated then "they reach their flare's packs and backend only"
       else s"they reach all that the network ${network.name} does")
  def reserves = false

  override def open(): Unit =
    try Await.result(network.open(), settings.startTimeout + settings.callTimeout)
    catch case NonFatal(problem) => throw PackNetwork.refused(problem)

  def start(resources: PackResources): Future[Either[Failure, Container]] = resources.base match
    case ContainerBase.Image(name) => inImage(resources, name)
    case _ => Future(launch(resources))

  /** Others on this machine remove images as well: if one is gone when its container is made, it is looked up
    * once more.
    */
  private def inImage(
      resources: PackResources,
      name: String,
      again: Boolean = false
  ): Future[Either[Failure, Container]] = images.find(name).flatMap:
    case Left(problem) => Future.successful(Left(ContainerBase.refused(name, problem.sentence)))
    case Right(image) =>
      launch(resources, image = Some(image)) match
        case Left(_) if !again && images.isRemoved(image) => inImage(resources, name, again = true)
        case launched => Future.successful(launched)

  def prewarm(workers: Int, memoryMiB: Int): Future[Either[Failure, Container]] = Future:
    try
      Files.createDirectories(blanks)
      val directory = Files.createTempDirectory(blanks, "blank")
      Files.setPosixFilePermissions(directory, PackageFiles.Readable)
      launch(PackResources(workers, memoryMiB, directory, ContainerBase.Interpreters), Some(directory))
    catch case problem: IOException => Left(startFailed(s"no directory for a package: ${reason(problem)}"))

  def adopt(container: Container, resources: PackResources): Future[Option[Container]] = container match
    case own: DockerContainer =>
      Future(own.blank.foreach(PackageFiles.link(resources.packagePath, _)))
        .flatMap: _ =>
          held.allow(own, limits(resources))
        .map: enough =>
          // Its program may never report that it is up.
          if enough then Delay.after(ConfineBound)(confine(own))
          Option.when(enough)(own)
        .recover:
          case problem: IOException =>
            log.warn("container {} cannot be given a package: {}", own.id, reason(problem))
            None
    case _ => Future.successful(None)

  override def confine(container: Container): Unit = container match
    case own: DockerContainer =>
      held.fit(own).foreach:
        case Change.Made => ()
        case _ if own.exit.isCompleted => ()
        case outcome =>
          log.warn("container {} is killed: it cannot be held to its pack's limits", own.id)
          val _ = own.ended.trySuccess(ContainerExit(None, oomKilled = outcome == Change.Refused))
          stop(own)
    case _ => ()

  private def launch(
      resources: PackResources,
      blank: Option[Path] = None,
      image: Option[UserImage] = None
  ): Either[Failure, Container] =
    try
      val token = Secret.random()
      val allowed = limits(resources)
      val id = create(resources, allowed, token, image)
      try
        docker.startContainerCmd(id).exec()
        val address = RuntimeAddress(addressOf(id), ContainerSpec.Port, token)
        val vacated = withinCloseTimeout(network.vacate(address.host))
        val container = DockerContainer(id, address, allowed, ended(id), blank, vacated)
        live.add(container)
        container.exit.foreach(_ => network.forget(id, address.host))
        awaitListening(container).map(_ => container).left.map: failure =>
          val _ = remove(container)
          failure
      catch
        case NonFatal(problem) =>
          val _ = removal.remove(id)
          throw problem
    catch
      case NonFatal(problem) =>
        blank.foreach(PackageFiles.delete)
        Left(startFailed(s"Docker refused the container: ${reason(problem)}"))

  override def connect(container: Container, access: NetworkAccess): Future[Either[Failure, Unit]] =
    container match
      case own: DockerContainer if network.isIsolated =>
        own.gate.open(!access.isNone):
          Future(granted(access))
            .flatMap(network.admit(own, _))
            .recover { case problem: IOException => Left(FirewallProblem.BackendNotFound(reason(problem))) }
            .map(_.left.map(problem => startFailed(problem.sentence)))
      case _ => Future.successful(Right(()))

  /** Blocks. */
  private def granted(access: NetworkAccess): Firewall.Grant =
    val servers = backends.of(access.backend)
    val backend = servers.flatMap: server =>
      Resolvers.addresses(server.host).map(Firewall.Destination("tcp", _, server.port))
    val resolvers =
      if access.egress || servers.exists(_.isNamed) then
        for address <- Resolvers.ofMachine(); protocol <- Vector("udp", "tcp")
        yield Firewall.Destination(protocol, address, DnsPort)
      else Vector.empty
    Firewall.Grant(access.flare.value, access.egress, backend ++ resolvers)

  override def disconnect(container: Container): Unit = container match
    case own: DockerContainer => own.gate.close(withinCloseTimeout(network.exclude(own.id, own.address.host)))
    case _ => ()

  /** Bounds how long the next flare on the container has to wait. */
  private def withinCloseTimeout(
      closed: Future[Either[FirewallProblem, Unit]]
  ): Future[Either[FirewallProblem, Unit]] =
    val bounded = Promise[Either[FirewallProblem, Unit]]()
    closed.onComplete(bounded.tryComplete)
    if !closed.isCompleted then
      Delay.after(closeTimeout):
        val _ = bounded.trySuccess(Left(FirewallProblem.Silent(closeTimeout)))
    bounded.future

  def throttle(container: Container, workers: Int): Future[Boolean] = container match
    case own: DockerContainer =>
      val cpus = settings.limits.nanoCpus(daemon.cpus, workers)
      held.hold(own, own.needed.copy(nanoCpus = cpus))
    case _ => Future.successful(false)

  def resize(container: Container, resources: PackResources): Future[Boolean] = container match
    case own: DockerContainer => held.hold(own, limits(resources))
    case _ => Future.successful(false)

  private def limits(resources: PackResources) =
    settings.limits.of(
      machineCpus = daemon.cpus,
      workers = resources.workers,
      memoryMiB = resources.memoryMiB
    )

  def stop(container: Container): Future[StopOutcome] = container match
    case own: DockerContainer =>
      network.forget(own.id, own.address.host)
      Future(removal.kill(own.id)).flatMap: dead =>
        val removed = Future(remove(own))
        // Its CPUs and memory are free as soon as it is dead; the daemon takes much longer to remove it.
        if dead then
          removals.add(removed)
          removed.onComplete(_ => removals.remove(removed))
          Future.successful(StopOutcome.Stopped)
        else removed
    case _ => Future.successful(StopOutcome.Stopped)

  def removeOrphans(): Future[Int] =
    Future(
      docker.listContainersCmd().withShowAll(true).withLabelFilter(List(s"$OwnerLabel=$owner").asJava).exec()
    ).map(_.asScala.toVector)
      .recover: problem =>
        log.error("cannot look for containers of an earlier run: {}", reason(problem))
        Vector.empty
      .flatMap(found =>
        Future.traverse(found)(container => Future(removal.remove(container.getId))).map(_ => found)
      )
      .map: removed =>
        PackageFiles.delete(blanks)
        removed.count(container => !container.getLabels.containsKey(PackNetwork.Label))

  def close(): Future[Unit] =
    for
      _ <- Future.traverse(live.asScala.toVector)(stop)
      _ <- Future.sequence(removals.asScala.toVector)
      _ <- network.close()
    yield
      images.close()
      daemon.close()

  private def create(
      resources: PackResources,
      allowed: ContainerLimits,
      token: Secret,
      image: Option[UserImage]
  ): String =
    val command = docker.createContainerCmd(image.fold(settings.image)(_.id))
    val host = ContainerSpec.hostConfig(settings, network.name, resources.packagePath, allowed)
    val secret = s"${RuntimeAddress.TokenVariable}=${token.hex}"
    image match
      case Some(image) =>
        ImageSpec(image, files.made.fold(problem => throw IOException(problem.sentence), identity))
          .fill(command, host, Vector(secret))
      case None =>
        command.withCmd(ContainerSpec.command(settings).asJava).withEnv(secret).withHostConfig(host)
    users.claim: user =>
      command
        .withName(ContainerUsers.name(user))
        .withUser(s"$user:${settings.group}")
        .withLabels(Map(OwnerLabel -> owner).asJava)
        .exec()
        .getId

  private def addressOf(id: String): String =
    val networks = docker.inspectContainerCmd(id).exec().getNetworkSettings.getNetworks
    Option(networks.get(network.name))
      .orElse(networks.values.asScala.headOption)
      .flatMap(network => Option(network.getIpAddress))
      .filter(_.nonEmpty)
      .getOrElse(throw IOException(s"network '${network.name}' gave the container no address"))

  /** The daemon answers before the runtime has bound its port: retries until a connection is accepted. */
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

  private def remove(container: DockerContainer): StopOutcome =
    val outcome = removal.remove(container.id)
    if outcome == StopOutcome.Stopped then
      live.remove(container)
      container.blank.foreach(PackageFiles.delete)
      container.ended.trySuccess(ContainerExit(None, oomKilled = false))
    outcome

object DockerDriver:
  private[driver] val OwnerLabel = "burst.owner"
  private val ConnectTimeout = 250.millis
  private val RetryPause = 2.millis
  private val DnsPort = 53

  /** How long a pre-warmed container may have more than its pack while its program comes up. */
  private val ConfineBound = 100.millis

  private[driver] def reason(problem: Throwable): String =
    Option(problem.getMessage).getOrElse(problem.getClass.getSimpleName).linesIterator.take(2).mkString(" ")

  /** What packages must be built for, by the image's labels. */
  def runtimeInfo(image: String, labels: Map[String, String]): RuntimeInfo =
    (labels.get("burst.arch"), labels.get("burst.glibc")) match
      case (Some(arch), Some(glibc)) => RuntimeInfo(arch, glibc)
      case _ =>
        throw SetupException(
          s"image '$image' lacks the labels burst.arch and burst.glibc: build it by deploy/runtime/build.sh."
        )
