package burst.invoker.driver
package sandbox

import burst.invoker.packages.PackageForm
import burst.node.{RuntimeBinary, ServerAddress, SetupException}
import burst.protocol.{BackendConfig, Failure, Operation, Secret}
import java.io.IOException
import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentHashMap
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, TimeoutException}
import scala.jdk.CollectionConverters.*
import scala.util.Try
import scala.util.control.NonFatal

/** Packs as processes isolated by the kernel, without a daemon: `burst-runtime sandbox`, the shim, sets up
  * the isolation. This driver starts one shim for each pack; it lives as long as the pack.
  *
  * The shim's standard input is both a life line and the way to change limits. What the kernel reclaims with
  * the sandbox's first process is not handled here. The rest ([[SandboxResources]]) is, and is marked with
  * the `owner`'s id, so that a later process finds it.
  *
  * As with Docker a pre-warmed sandbox has an empty directory of its own instead of a package, which is
  * hard-linked into it later: `directory` is on the file system of the packages. Changing limits takes no
  * time here, so it has those of its pack as soon as it is adopted.
  *
  * `limitedBy` is what holds packs to their limits, as reported by the shim; a pack has at most `slots`
  * workers; `users` are those that packs run as, if they can be others than the invoker's own; packs of other
  * invokers reach this machine at `host`; `backends` finds the servers of backends; `blocking` runs blocking
  * work: one thread per live sandbox reads its output.
  */
final class SandboxDriver(
    settings: SandboxSettings,
    runtimeBinary: Path,
    owner: String,
    directory: Path,
    limitedBy: String,
    slots: Int,
    users: Option[UserRange],
    host: String,
    backends: BackendServers,
    blocking: ExecutionContext
) extends Driver:
  import Driver.startFailed
  import SandboxDriver.*

  private given ExecutionContext = blocking
  private val log = LoggerFactory.getLogger(classOf[SandboxDriver])
  private val binary = RuntimeBinary(runtimeBinary)
  private val live = ConcurrentHashMap.newKeySet[Sandbox]()
  private val peers = RemotePeers()
  private val free = users.map(PackUsers(_))
  private val hasGroups = limitedBy.startsWith(ControlGroups)
  private val prefix = s"burst-$owner-"
  private val sockets = directory.resolve("sockets")
  private val blanks = directory.resolve("prewarmed")
  private val cpus = Runtime.getRuntime.availableProcessors

  def name = SandboxKind.name
  def isLocal = true
  def packageForm = PackageForm.Directory
  def limits =
    val held =
      if hasGroups then s"the processors, memory and number of processes of their workers by $limitedBy"
      else s"what they may have by $limitedBy"
    val user = if users.isEmpty then "are the invoker's own user" else "have users of their own"
    s"packs are isolated, $user and reach their flare's packs and its backend only, and the internet where their " +
      s"namespace may; they are held to $held"

  /** Their limits are maximums: nothing is reserved for them. */
  def reserves = false

  override def programMemory(workers: Int, memoryMiB: Int): Option[Long] =
    Option.when(!hasGroups)(settings.program.mebibytes(workers, memoryMiB))

  /** Packs can pass through `sockets` to names that they know, but nobody may list it: packs may run as its
    * owner, who could otherwise list it.
    */
  override def open(): Unit =
    try
      Files.createDirectories(blanks)
      Files.createDirectories(sockets)
      val _ = Files.setPosixFilePermissions(sockets, PosixFilePermissions.fromString("-wx--x--x"))
    catch
      case problem: IOException =>
        throw SetupException(s"$directory cannot be made ready for packs: ${problem.getMessage}.", problem)

  // ---- Starting ------------------------------------------------------------------------------------------

  def start(resources: PackResources): Future[Either[Failure, Container]] = resources.base match
    case ContainerBase.Image(image) => Future.successful(Left(ContainerBase.unsupported(image, name)))
    case _ => Future(launch(resources, blank = None))

  def prewarm(workers: Int, memoryMiB: Int): Future[Either[Failure, Container]] = Future:
    try
      val blank = Files.createTempDirectory(blanks, "blank")
      Files.setPosixFilePermissions(blank, PackageFiles.Readable)
      launch(PackResources(workers, memoryMiB, blank, ContainerBase.Interpreters), Some(blank))
    catch case problem: IOException => Left(startFailed(s"no directory for a package: ${problem.getMessage}"))

  private def launch(resources: PackResources, blank: Option[Path]): Either[Failure, Container] =
    free.map(_.claim()) match
      case Some(None) =>
        blank.foreach(PackageFiles.delete)
        Left(startFailed("no user is free: burst.invoker.sandbox.users has too few"))
      case user =>
        val group = Option.when(hasGroups)(prefix + Secret.random().hex.take(GroupDigits))
        launch(resources, SandboxResources(user.flatten, group, blank))

  private def launch(resources: PackResources, owned: SandboxResources): Either[Failure, Container] =
    try
      val token = Secret.random()
      val allowed = allowedTo(resources)
      val process = RuntimeProcess.start(
        Vector(runtimeBinary.toString, Shim.Command),
        settings.environment,
        Map(RuntimeAddress.TokenVariable -> token.hex),
        settings.stopGrace + ShimBound
      )
      val sandbox = Sandbox(process, owned)
      live.add(sandbox)
      val listening =
        try
          process.writeLine(Shim.line(spec(resources, allowed, owned)))
          process.awaitListening(settings.startTimeout)
        catch
          case problem: IOException => // it has already ended, and has reported why
            process.awaitListening(settings.startTimeout).flatMap(_ => Left(RuntimeProcess.refused(problem)))
      listening
        .map((host, port) => SandboxContainer(sandbox, RuntimeAddress(host, port, token), allowed))
        .left
        .map: failure =>
          val _ = end(sandbox)
          failure
    catch
      case problem: IOException =>
        releaseResources(owned)
        Left(RuntimeProcess.refused(problem))

  private def spec(resources: PackResources, allowed: ContainerLimits, owned: SandboxResources) =
    Shim.Spec(
      resources.packagePath.toAbsolutePath,
      Some(sockets.toAbsolutePath),
      settings.root,
      resources.base == ContainerBase.Interpreters,
      settings.mounts,
      owned.user,
      owned.group,
      tmpMiB = settings.tmpSize,
      shmMiB = settings.shmSize,
      graceMs = settings.stopGrace,
      limits = Shim.Limits(allowed, settings.descriptors)
    )

  def adopt(container: Container, resources: PackResources): Future[Option[Container]] = container match
    case own: SandboxContainer =>
      val held = hold(own, allowedTo(resources)) // at the same time as its files are linked
      Future(own.resources.blank.foreach(PackageFiles.link(resources.packagePath, _)))
        .flatMap(_ => held)
        .map(Option.when(_)(own))
        .recover:
          case problem: IOException =>
            log.warn("sandbox {} cannot be given a package: {}", own.id, problem.getMessage)
            None
    case _ => Future.successful(None)

  // ---- Limits --------------------------------------------------------------------------------------------

  /** Without control groups the number of processes cannot be changed later: it is that of the largest pack.
    */
  private def allowedTo(resources: PackResources) =
    val allowed =
      settings.limits.of(machineCpus = cpus, workers = resources.workers, memoryMiB = resources.memoryMiB)
    if hasGroups then allowed
    else
      allowed.copy(pids =
        settings.limits.of(machineCpus = cpus, workers = slots, memoryMiB = resources.memoryMiB).pids
      )

  def throttle(container: Container, workers: Int): Future[Boolean] = container match
    case own: SandboxContainer =>
      hold(own, own.limits.current.copy(nanoCpus = settings.limits.nanoCpus(cpus, workers)))
    case _ => Future.successful(false)

  def resize(container: Container, resources: PackResources): Future[Boolean] = container match
    case own: SandboxContainer => hold(own, allowedTo(resources))
    case _ => Future.successful(false)

  /** Whether it has these limits now, and is alive. */
  private def hold(own: SandboxContainer, needed: ContainerLimits): Future[Boolean] =
    own.limits.change(needed)(_ => setLimits(own, needed)).map(_ == Change.Made && own.process.isAlive)

  private def setLimits(own: SandboxContainer, needed: ContainerLimits): Change =
    ask(own, Shim.limits(Shim.Limits(needed, settings.descriptors)), settings.answerTimeout).fold(
      problem =>
        log.debug("sandbox {} cannot be given other limits: {}", own.id, problem.sentence)
        Change.Failed
      ,
      identity
    )

  /** The shim's answer, or why there is none. Blocks. */
  private def ask[A](
      own: SandboxContainer,
      order: Shim.Order[A],
      timeout: FiniteDuration
  ): Either[ShimProblem, A] = answered(send(own, order), timeout)

  private def send[A](own: SandboxContainer, order: Shim.Order[A]): Future[A] =
    val answer = own.process.output.await(order.answer)
    try
      own.process.writeLine(order.line)
      answer
    catch case problem: IOException => Future.failed(problem)

  private def answered[A](answer: Future[A], timeout: FiniteDuration): Either[ShimProblem, A] =
    try Right(StallTolerantAwait.result(answer, timeout))
    catch
      case _: TimeoutException => Left(ShimProblem.Silent(timeout))
      case NonFatal(problem) => Left(ShimProblem.NoAnswer(problem.getMessage))

  // ---- Network -------------------------------------------------------------------------------------------

  /** The flare's packs on this invoker have their sockets where this one looks for them. */
  override def connect(container: Container, access: NetworkAccess): Future[Either[Failure, Unit]] =
    container match
      case own: SandboxContainer =>
        val isNeeded = access.backend.uri.nonEmpty || access.egress || access.elsewhere > 0
        own.gate.open(isNeeded)(Future(openNetwork(own, access)))
      case _ => Future.successful(Right(()))

  /** Revokes what it could reach before. If packs meet on a server, nobody connects to them directly. */
  private def openNetwork(own: SandboxContainer, access: NetworkAccess): Either[Failure, Unit] =
    for
      hasServers <- openToServers(own, access.backend)
      _ <- if access.egress then openToInternet(own) else Right(())
      _ <- if hasServers || access.elsewhere == 0 then Right(()) else acceptPeers(own, access.elsewhere)
    yield ()

  /** Returns whether the backend has any servers. */
  private def openToServers(own: SandboxContainer, backend: BackendConfig): Either[Failure, Boolean] =
    def unreachable(why: String) = startFailed(s"its backend '${backend.kind}' cannot be reached: $why")
    for
      servers <- serversOf(backend).left.map(problem => unreachable(problem.getMessage))
      _ <-
        if servers.isEmpty then Right(())
        else
          ask(own, Shim.open(servers), settings.connectTimeout).flatten
            .left.map(problem => unreachable(problem.sentence))
    yield servers.nonEmpty

  private def serversOf(backend: BackendConfig): Either[IOException, Vector[ServerAddress]] =
    try Right(backends.of(backend))
    catch case problem: IOException => Left(problem)

  /** Lets this many packs of other invokers connect to it. */
  private def acceptPeers(own: SandboxContainer, packs: Int): Either[Failure, Unit] =
    ask(own, Shim.listen(host, packs), settings.connectTimeout).flatten
      .map(peers.listening(own.sandbox, _))
      .left
      .map(problem => startFailed(s"packs of other machines cannot come to it: ${problem.sentence}"))

  override def publish(container: Container, endpoint: String): String = container match
    case own: SandboxContainer => peers.publish(own.sandbox, endpoint)
    case _ => endpoint

  override def find(
      container: Container,
      endpoints: Vector[Option[String]]
  ): Future[Either[Failure, Vector[Option[String]]]] = container match
    case own: SandboxContainer if peers.isRegistered(own.sandbox) =>
      Future:
        val found = peers.find(own.sandbox, endpoints): remote =>
          ask(own, Shim.peers(remote), settings.connectTimeout).flatten
        found.left.map: problem =>
          startFailed(s"packs of other machines cannot be reached: ${problem.sentence}")
    case _ => Future.successful(Right(endpoints))

  /** If a machine cannot do this, that is no fault that makes it worse for other flares. */
  private def openToInternet(own: SandboxContainer): Either[Failure, Unit] =
    val opened = ask(own, Shim.internet(settings.notInternet), settings.answerTimeout).flatten
    opened.left.map: problem =>
      val closed = "the internet, which this namespace may reach (egress), cannot be opened to it"
      startFailed(s"$closed: ${problem.sentence}").copy(operation = Some(Operation.Connect))

  /** A sandbox that can still reach what it did before is unusable for anybody else. */
  override def disconnect(container: Container): Unit = container match
    case own: SandboxContainer => own.gate.close(closeNetwork(own))
    case _ => ()

  /** Those who wait for the closing learn that it failed before the sandbox ends. */
  private def closeNetwork(own: SandboxContainer): Future[Either[ShimProblem, Unit]] =
    peers.forget(own.sandbox)
    // Sent immediately, so that it is mostly done when the next flare arrives.
    val answer = send(own, Shim.Close)
    val closed = Future(answered(answer, settings.answerTimeout).flatten)
    closed.foreach:
      case Right(()) => ()
      case Left(_) if !own.process.isAlive => ()
      case Left(problem) =>
        log.warn("sandbox {} is ended: what it reached cannot be closed: {}", own.id, problem.sentence)
        val _ = end(own.sandbox)
    closed

  // ---- Stopping ------------------------------------------------------------------------------------------

  def stop(container: Container): Future[StopOutcome] = container match
    case own: SandboxContainer => Future(end(own.sandbox))
    case _ => Future.successful(StopOutcome.Stopped)

  /** The shim has removed the control group, unless it was killed or failed to. */
  private def end(own: Sandbox): StopOutcome = own.process.end(own.below) match
    case StopOutcome.Stopped if own.process.succeeded || hasNoGroup(own) =>
      clear(own)
      StopOutcome.Stopped
    case outcome =>
      if own.isEnding.compareAndSet(false, true) then
        val ended = EndRetry.ended(own.process.end(own.below) == StopOutcome.Stopped && hasNoGroup(own))
        ended.foreach(_ => clear(own))
      outcome match
        case StopOutcome.NotStopped(reason, _) => StopOutcome.NotStopped(reason, own.removed.future)
        case StopOutcome.Stopped => StopOutcome.NotStopped("its control group is in use", own.removed.future)

  private def hasNoGroup(own: Sandbox): Boolean = own.resources.group.forall(removeGroups(_).isDefined)

  /** Called when nothing of it runs any more. */
  private def clear(own: Sandbox): Unit = if own.cleared.compareAndSet(false, true) then
    live.remove(own)
    peers.forget(own)
    try releaseResources(own.resources)
    finally own.removed.success(())

  private def releaseResources(owned: SandboxResources): Unit =
    owned.blank.foreach(PackageFiles.delete)
    for user <- owned.user; users <- free do users.release(user)

  /** Returns how many there were, or nothing if any are left. */
  private def removeGroups(prefix: String): Option[Int] =
    val removed = binary.removeSandboxes(prefix)
    removed.left.foreach: problem =>
      log.error("control groups that begin with {} cannot be removed: {}", prefix, problem.sentence)
    removed.toOption

  def removeOrphans(): Future[Int] = Future:
    val removed = if hasGroups then removeGroups(prefix).getOrElse(0) else 0
    clearDirectory()
    removed

  def close(): Future[Unit] =
    Future
      .traverse(live.asScala.toVector)(own => Future(end(own)).flatMap(_.settled(StopOutcome.LingerTimeout)))
      .map: _ =>
        // If a shim was killed, its group may have existed while its processes were still ending.
        if hasGroups then
          val _ = removeGroups(prefix)
        clearDirectory()

  private def clearDirectory(): Unit =
    // a directory can only be deleted by those who can list it
    val _ = Try(Files.setPosixFilePermissions(sockets, PackageFiles.Readable))
    PackageFiles.delete(directory)

object SandboxDriver:
  /** The shim's name for the mechanism that limits a pack as a whole. */
  private val ControlGroups = "control groups"

  /** How long a shim may take beyond the time that it gives its runtime. */
  private val ShimBound = 2.seconds

  /** Of equal length, so that no group's name is a prefix of another's. */
  private val GroupDigits = 16
