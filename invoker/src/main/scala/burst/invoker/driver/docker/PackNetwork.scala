package burst.invoker.driver
package docker

import burst.node.SetupException
import burst.protocol.Secret
import com.github.dockerjava.api.DockerClient
import com.github.dockerjava.api.async.ResultCallback
import com.github.dockerjava.api.exception.NotFoundException
import com.github.dockerjava.api.model.{AccessMode, Bind, Capability, Frame, HostConfig, Network, Volume}
import java.io.IOException
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.util.concurrent.{Executors, TimeUnit}
import org.slf4j.LoggerFactory
import scala.annotation.tailrec
import scala.concurrent.duration.{Deadline, DurationInt}
import scala.concurrent.{ExecutionContext, Future}
import scala.jdk.CollectionConverters.*
import scala.util.Try
import scala.util.control.NonFatal

/** The network of this invoker's containers, on which nobody reaches anybody except as granted by [[admit]]:
  * a Docker network, and a process that adds rules for it to the kernel. The process has only the privileges
  * for that, and runs in a container of its own, as the invoker may be an ordinary user.
  *
  * If that process dies the rules stay; it is started again when they have to change, and gets the admissions
  * again. There are no rules with a network of the operator's.
  *
  * `directory` is the invoker's, for the socket to that process; `containers` is the maximum number of
  * containers.
  */
private[driver] final class PackNetwork(
    settings: DockerSettings,
    owner: String,
    daemon: DockerDaemon,
    directory: Path,
    containers: Int
):
  import PackNetwork.*

  private val log = LoggerFactory.getLogger(classOf[PackNetwork])

  // Also the name of its rules. By it and the bridge's name the firewall finds rules that have outlived their
  // network.
  private val own = s"burst-${owner.take(12)}"
  private val labels = Map(DockerDriver.OwnerLabel -> owner, Label -> "")

  // Requests are handled in order, on a thread of its own.
  private val thread = Executors.newSingleThreadExecutor: task =>
    val made = Thread(task, "burst-firewall")
    made.setDaemon(true)
    made
  private given ExecutionContext = ExecutionContext.fromExecutor(thread)

  private val sizes = NetworkSizes(containers)
  private var subnet = Option.empty[String]
  private var process = Option.empty[Running]

  /** Whether a lost process has left rules that may admit too much; until another process begins. */
  private var isStale = false

  /** By address: the container that has it, and its grant. */
  private var admitted = Map.empty[String, (String, Firewall.Grant)]

  private final case class Running(container: String, line: Firewall, directory: Path)

  private def docker: DockerClient = daemon.calls

  /** Whether packs are isolated from each other. */
  val isIsolated: Boolean = settings.network.isEmpty

  /** The network that containers are attached to. */
  def name: String = settings.network.getOrElse(own)

  /** Creates whatever of it is missing. */
  def open(): Future[Unit] = if isIsolated then Future(ensure()).map(_ => ()) else Future.unit

  /** Lets a container reach what `grant` lists from now on, and nothing else. */
  def admit(container: DockerContainer, grant: Firewall.Grant): Future[Either[FirewallProblem, Unit]] =
    if !isIsolated then Future.successful(Right(()))
    else
      Future:
        val address = container.address.host
        // By now another container may have the address.
        if container.exit.isCompleted then Left(FirewallProblem.ContainerEnded)
        else
          try
            ensure().line.admit(address, grant)
            admitted += address -> (container.id, grant)
            Right(())
          catch
            case NonFatal(problem) =>
              renew()
              Left(FirewallProblem.NotAdmitted(DockerDriver.reason(problem)))

  /** Lets the container reach nothing any more; returns why, if that failed. By now another container may
    * have the address.
    */
  def exclude(container: String, address: String): Future[Either[FirewallProblem, Unit]] =
    exclude(address, _ == container, isStale)

  /** The same for a container that is being ended, without a result. No process is started for it: the
    * address is [[vacate]]d before another container gets it.
    */
  def forget(container: String, address: String): Unit =
    val _ = exclude(address, _ == container, false)

  /** The former holder of the address is gone: its new holder must not reach anything; returns why, if that
    * failed.
    */
  def vacate(address: String): Future[Either[FirewallProblem, Unit]] = exclude(address, _ => true, isStale)

  private def exclude(
      address: String,
      isHolder: String => Boolean,
      renews: => Boolean
  ): Future[Either[FirewallProblem, Unit]] =
    if !isIsolated then Future.successful(Right(()))
    else
      Future:
        val holds = admitted.get(address).exists((holder, _) => isHolder(holder))
        if holds then admitted -= address
        process match
          case Some(running) if holds =>
            try
              running.line.exclude(address)
              Right(())
            catch
              case NonFatal(problem) =>
                log.warn("a pack's network could not be taken from it: {}", DockerDriver.reason(problem))
                stopProcess()
                if renews then renew() else Right(())
          case _ => if renews then renew() else Right(())

  /** Called when its containers are gone: removes the network and its rules. */
  def close(): Future[Unit] =
    Future:
      if subnet.isDefined then
        try ensure().line.end()
        catch
          case NonFatal(_) =>
            // The process had died; the rules still exist.
            stopProcess()
            ensure().line.end()
        stopProcess()
        removeEmptied(RemovalTimeout.fromNow)
    .recover(problem => log.warn("the packs' network stays: {}", DockerDriver.reason(problem)))
      .andThen(_ => thread.shutdown())

  private def remove(network: String): Unit =
    try
      val _ = docker.removeNetworkCmd(network).exec()
    catch case _: NotFoundException => ()

  /** A busy daemon may report a container as gone before its endpoint in the network is. */
  @tailrec private def removeEmptied(deadline: Deadline): Unit =
    Try(remove(own)) match
      case scala.util.Success(_) => ()
      case scala.util.Failure(problem) if deadline.isOverdue() => throw problem
      case scala.util.Failure(_) =>
        TimeUnit.MILLISECONDS.sleep(RemovalPause.toMillis)
        removeEmptied(deadline)

  /** Ends the process, if it exists; the rules stay. */
  private def stopProcess(): Unit =
    process.foreach: running =>
      running.line.close()
      removeContainer(running.container)
      PackageFiles.delete(running.directory)
      isStale = true
    process = None

  /** Starts another process with rules for the current admissions only; returns why, if that failed. */
  private def renew(): Either[FirewallProblem, Unit] =
    stopProcess()
    try
      val _ = ensure()
      Right(())
    catch
      case NonFatal(problem) =>
        val reason = DockerDriver.reason(problem)
        log.error("packs keep the network they have: {}", reason)
        stopProcess()
        Left(FirewallProblem.NotRenewed(reason))

  private def removeContainer(id: String): Unit =
    Try(docker.removeContainerCmd(id).withForce(true).exec()).failed.foreach:
      case _: NotFoundException => ()
      case problem => log.warn("the firewall's container stays: {}", DockerDriver.reason(problem))

  private def ensure(): Running = process.getOrElse:
    val running = start(subnet.getOrElse(openNetwork()))
    process = Some(running)
    admitted.foreach { case (address, (_, grant)) => running.line.admit(address, grant) }
    isStale = false
    running

  /** Reuses the network of an earlier process. It was not removed before, as its rules would have outlived
    * it. It is looked up first, as versions of Docker differ in how they report that it exists.
    */
  private def openNetwork(): String =
    val network =
      try narrowed(inspect())
      catch
        case _: NotFoundException => create(Attempts)
    subnet = Some(addresses(network))
    addresses(network)

  /** An existing network may be larger than necessary: made by a process that ended meanwhile, or by an older
    * version.
    */
  private def narrowed(found: Network): Network =
    val known = addresses(found)
    if sizes.narrow(known) == known then found
    else Try(remove(own)).fold(_ => found, _ => create(Attempts))

  private def addresses(network: Network): String =
    network.getIpam.getConfig.asScala
      .flatMap(config => Option(config.getSubnet))
      .find(!_.contains(':'))
      .getOrElse(throw IOException(s"Docker gave the network $own no addresses"))

  /** Creates a network with no more addresses than containers need, out of those that Docker picks: each
    * address that a container looks up takes an entry of a table that the whole machine shares.
    */
  @tailrec private def create(attempts: Int): Network =
    createNetwork(None)
    val narrow = sizes.narrow(addresses(inspect()))
    remove(own)
    Try(createNetwork(Some(narrow))) match
      case scala.util.Success(_) => inspect()
      // Somebody else may have taken the addresses in the meantime.
      case scala.util.Failure(problem) => if attempts > 1 then create(attempts - 1) else throw problem

  private def inspect(): Network = docker.inspectNetworkCmd().withNetworkId(own).exec()

  private def createNetwork(addresses: Option[String]): Unit =
    val ipam = addresses.map(Network.Ipam.Config().withSubnet(_))
    val _ = docker
      .createNetworkCmd()
      .withIpam(Network.Ipam().withConfig(ipam.toList.asJava))
      .withName(own)
      .withDriver("bridge")
      // The rules cover only IPv4.
      .withEnableIpv6(false)
      .withOptions(Map("com.docker.network.bridge.name" -> bridge).asJava)
      .withLabels(labels.asJava)
      .exec()

  private def bridge = s"burst${owner.take(8)}" // the kernel limits names to 15 characters

  private def start(network: String): Running =
    // Only the invoker can enter the outer directory; the inner one is open to the process, which is another
    // user.
    val outer = makeDirectory()
    val inner = Files.createDirectory(outer.resolve("s"))
    Files.setPosixFilePermissions(inner, PosixFilePermissions.fromString("rwxrwxrwx"))
    val id = create(inner, network)
    try
      docker.startContainerCmd(id).exec()
      Running(id, connected(id, inner.resolve(Socket), settings.startTimeout.fromNow), outer)
    catch
      case NonFatal(problem) =>
        removeContainer(id)
        PackageFiles.delete(outer)
        throw problem

  private def makeDirectory(): Path =
    val own = Files.createDirectories(directory).resolve(s"net${Secret.random().hex.take(4)}")
    val onlyOwner = PosixFilePermissions.asFileAttribute(Private)
    if own.resolve("s").resolve(Socket).toString.getBytes.length <= LongestAddress then
      Files.createDirectory(own, onlyOwner)
    else Files.createTempDirectory(Path.of("/tmp"), "burst-net", onlyOwner)

  private def create(socketDirectory: Path, network: String): String =
    val rules = Vector("--name", own, "--bridge", bridge, "--network", network) ++
      Vector("--neighbours", sizes.neighbours.toString)
    val ranges = settings.reachable.flatMap(Vector("--open", _)) ++
      settings.notInternet.flatMap(Vector("--closed", _))
    val control = Vector("--control", ContainerSpec.Port.toString)
    val command = Vector("firewall", "--socket", s"$SocketMount/$Socket") ++ rules ++ control ++ ranges
    val host = HostConfig
      .newHostConfig()
      .withNetworkMode("host")
      // If the daemon remaps users of containers, the host's network requires the host's users.
      .withUsernsMode("host")
      .withCapDrop(Capability.ALL)
      .withCapAdd(Capability.NET_ADMIN)
      .withSecurityOpts(List("no-new-privileges").asJava)
      .withReadonlyRootfs(true)
      .withMemory(Memory)
      .withMemorySwap(Memory)
      .withPidsLimit(Pids)
      .withBinds(Bind(socketDirectory.toString, Volume(SocketMount), AccessMode.rw))
    docker
      .createContainerCmd(settings.image)
      .withName(s"$own-firewall-${Secret.random().hex.take(8)}")
      .withCmd(command.asJava)
      .withUser("0:0")
      .withLabels(labels.asJava)
      .withHostConfig(host)
      .exec()
      .getId

  @tailrec private def connected(id: String, socket: Path, deadline: Deadline): Firewall =
    Try(Firewall.connect(socket, settings.callTimeout)) match
      case scala.util.Success(line) => line
      case scala.util.Failure(problem) =>
        val runs = docker.inspectContainerCmd(id).exec().getState.getRunning.booleanValue
        if !runs then throw IOException(s"the packs' firewall has ended: ${logOutput(id)}")
        if deadline.isOverdue() then throw problem
        TimeUnit.MILLISECONDS.sleep(RetryPause.toMillis)
        connected(id, socket, deadline)

  private def logOutput(id: String): String =
    val text = StringBuilder()
    val collect = new ResultCallback.Adapter[Frame]:
      override def onNext(frame: Frame): Unit =
        val _ = text.append(String(frame.getPayload))
    Try(docker.logContainerCmd(id).withStdErr(true).withTailAll().exec(collect).awaitCompletion(
      2,
      TimeUnit.SECONDS
    ))
    text.toString.trim

private[driver] object PackNetwork:
  /** The label of the network, and of its firewall's container, in addition to the owner's. */
  val Label = "burst.network"
  private val Private = PosixFilePermissions.fromString("rwx------")
  private val SocketMount = "/run/burst"
  private val Socket = "firewall"

  /** The maximum length of a socket's path in bytes, set by the kernel. */
  private val LongestAddress = 107
  private val Memory = 64L << 20
  private val Pids = 8L
  private val RetryPause = 5.millis
  private val RemovalPause = 50.millis

  /** How long it may take until the emptied network can be removed. */
  private val RemovalTimeout = 10.seconds

  /** How often it looks for free addresses. */
  private val Attempts = 3

  /** The message about a network that cannot be set up, for this reason. */
  def refused(problem: Throwable): SetupException = SetupException(
    s"packs cannot be kept from each other (${DockerDriver.reason(problem)}). To do without, name a network " +
      "of Docker's as burst.invoker.docker.network, such as bridge.",
    problem
  )
