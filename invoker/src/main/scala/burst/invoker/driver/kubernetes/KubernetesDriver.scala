package burst.invoker.driver
package kubernetes

import burst.invoker.packages.PackageForm
import burst.protocol.{ClusterRoom, Failure, Operation, Secret, WantedPacks}
import io.fabric8.kubernetes.client.dsl.base.{PatchContext, PatchType}
import java.net.{InetSocketAddress, Socket}
import java.util.concurrent.ConcurrentHashMap
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Deadline, DurationInt}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters.*
import scala.util.{Try, Using}

/** Packs as pods of a Kubernetes cluster, one each, wherever it has room.
  *
  * From request to listening runtime there are two calls to the API, for the pod and its token; then it waits
  * for changes of the pod, and tries its address until a connection is accepted. All changes come by one
  * watch over the pods of this `owner`: no thread waits for a pod.
  *
  * The nodes share no disk with the invoker, so packages are sent to the runtimes. For the same reason a
  * pre-warmed pod is like any other. It waits with guessed limits; those of its pack are requested when it is
  * adopted, and if they are lower, the kubelet applies them in its own time. If the server cannot change
  * limits, a pod serves only packs of its own size. What pods can reach is up to the cluster's network
  * policies.
  *
  * `blocking` runs the calls, which wait for the API. With `rooms` packs have slots on a node, and are made
  * for it; `demand` shows the cluster which packs wait for more.
  */
final class KubernetesDriver(
    settings: KubernetesSettings,
    owner: String,
    cluster: KubernetesCluster,
    blocking: ExecutionContext,
    rooms: Option[ClusterRooms] = None,
    demand: Option[DemandPods] = None
) extends Driver:
  import KubernetesDriver.*

  private given ExecutionContext = blocking
  private val log = LoggerFactory.getLogger(classOf[KubernetesDriver])
  private val watched = WatchedPods(cluster, owner)
  private val users = PackUsers(settings.users)
  @volatile private var closing = false
  private val removals = ConcurrentHashMap.newKeySet[Future[StopOutcome]]()

  def name = KubernetesKind.name
  def isLocal = KubernetesKind.isLocal
  def packageForm = PackageForm.Archive
  def limits = "pods are held to the processors and memory of their packs' workers"

  /** The scheduler reserves a node's room for pods, whatever they do. */
  def reserves = true

  override def room: Option[ClusterRoom] = rooms.map(_.current)
  override def onRoom(changed: () => Unit): Unit = rooms.foreach(_.onChange(changed))

  override def requestRoom(packs: Vector[WantedPacks]): Unit = demand.foreach(_.requestRoom(packs))

  def start(resources: PackResources): Future[Either[Failure, Container]] = resources.base match
    case ContainerBase.Image(image) => Future.successful(Left(ContainerBase.unsupported(image, name)))
    case _ => launch(limits(resources), PackageSource.Sent(resources.packagePath), resources.node)

  def prewarm(workers: Int, memoryMiB: Int): Future[Either[Failure, Container]] =
    launch(PodLimits.of(settings, workers, memoryMiB), PackageSource.Mounted(""), None)

  // ---- Starting ------------------------------------------------------------------------------------------

  private def launch(
      allowed: PodLimits,
      source: PackageSource,
      node: Option[String]
  ): Future[Either[Failure, Container]] =
    users.claim(watched.users) match
      case Some(user) => launch(user, allowed, source, node)
      case None =>
        val range = s"${settings.users.first} to ${settings.users.last}"
        val why = s"no user from $range is free: burst.invoker.kubernetes.users has too few"
        Future.successful(Left(Driver.startFailed(why)))

  private def launch(
      user: Long,
      allowed: PodLimits,
      source: PackageSource,
      node: Option[String]
  ): Future[Either[Failure, Container]] =
    val deadline = settings.startTimeout.fromNow
    val token = Secret.random()
    val pod = watched.expect(PackPod.name(owner))
    pod.exit.foreach(_ => users.release(user))(using ExecutionContext.parasitic)
    Future(create(pod, allowed, user, token, node))
      .flatMap(_ => placed(pod, node))
      .flatMap:
        case Left(problem) => Future.successful(Left(problem))
        case Right(()) =>
          pod
            .until(PodState.address, deadline.timeLeft)
            .flatMap:
              case Some(Right(host)) =>
                awaitListening(pod, RuntimeAddress(host, PackPod.Port, token), deadline)
              case Some(Left(problem)) => Future.successful(Left(problem))
              case None => Future.successful(Left(late(pod)))
      .recover(problem => Left(PodProblem.refused(KubernetesCluster.reason(problem))))
      .flatMap:
        case Right(address) =>
          // The runtime has read it by now.
          Future(deleteToken(pod.name))
          Future.successful(Right(PodContainer(pod, address, source, HeldLimits(allowed))))
        case Left(problem) =>
          val overQuota = problem match
            case _: PodProblem.OverQuota => true
            case _ => false
          if overQuota then demand.foreach(_.backOff())
          // if no node has room for such a pod, that says nothing about this invoker
          val hasNoRoom = problem match
            case _: PodProblem.Unplaced => true
            case _ => pod.snapshot.exists(PodState.foundNoRoom)
          if hasNoRoom then for rooms <- rooms; node <- node do rooms.refused(node)
          val waits = hasNoRoom || overQuota && node.isDefined
          val failure = Driver
            .startFailed(s"the pack's pod did not come up: ${problem.sentence}")
            .copy(operation = Option.when(waits)(Operation.Schedule))
          remove(pod).map(_ => Left(failure))

  /** A pod with a designated node is scheduled soon, or not at all. */
  private def placed(pod: WatchedPod, node: Option[String]): Future[Either[PodProblem, Unit]] = node match
    case None => Future.successful(Right(()))
    case Some(node) =>
      pod
        .until(PodState.placed, settings.scheduleTimeout)
        .map(_.toRight(PodProblem.Unplaced(node, settings.scheduleTimeout, obstacle(pod))))

  /** The kubelet reads the token when it starts the container: the Secret must be created first. */
  private def create(
      pod: WatchedPod,
      allowed: PodLimits,
      user: Long,
      token: Secret,
      node: Option[String]
  ): Unit =
    try
      if closing then throw IllegalStateException("the invoker is being stopped")
      cluster.secrets.resource(PackPod.secret(pod.name, owner, token, cluster.invoker)).create()
      cluster.pods
        .resource(PackPod.pod(settings, pod.name, owner, allowed, user, cluster.invoker, node))
        .create()
    finally
      val _ = pod.creationAnswered.trySuccess(())

  private def awaitListening(
      pod: WatchedPod,
      address: RuntimeAddress,
      deadline: Deadline
  ): Future[Either[PodProblem, RuntimeAddress]] =
    Future(accepts(address)).flatMap: accepted =>
      if accepted then Future.successful(Right(address))
      else
        // A pod has an address before its image is pulled.
        pod.snapshot.flatMap(PodState.address).flatMap(_.left.toOption) match
          case Some(problem) => Future.successful(Left(problem))
          case None if deadline.isOverdue() => Future.successful(Left(late(pod)))
          case None =>
            val pause = Promise[Unit]()
            Delay.after(RetryPause)(pause.success(()))
            pause.future.flatMap(_ => awaitListening(pod, address, deadline))

  private def accepts(address: RuntimeAddress): Boolean =
    val socket = InetSocketAddress(address.host, address.port)
    Using(Socket())(_.connect(socket, ConnectTimeout.toMillis.toInt)).isSuccess

  private def late(pod: WatchedPod): PodProblem = PodProblem.Late(settings.startTimeout, obstacle(pod))

  private def obstacle(pod: WatchedPod): Option[String] = pod.snapshot.flatMap(PodState.obstacle)

  // ---- Limits --------------------------------------------------------------------------------------------

  private def limits(resources: PackResources) =
    PodLimits.of(settings, resources.workers, resources.memoryMiB)

  def adopt(container: Container, resources: PackResources): Future[Option[Container]] = container match
    case own: PodContainer =>
      val needed = limits(resources)
      val enough = own.limits.current.allows(needed)
      val fits = if enough then propose(own, needed) else change(own, needed)
      fits.map(Option.when(_)(own.withPackage(PackageSource.Sent(resources.packagePath))))
    case _ => Future.successful(None)

  def throttle(container: Container, workers: Int): Future[Boolean] = container match
    case own: PodContainer =>
      change(own, own.limits.current.copy(cpuMillis = PodLimits.cpuMillis(settings, workers)))
    case _ => Future.successful(false)

  def resize(container: Container, resources: PackResources): Future[Boolean] = container match
    case own: PodContainer => change(own, limits(resources))
    case _ => Future.successful(false)

  /** Whether the pod has the limits now. If its node has no room for them, or cannot reduce them, the change
    * is withdrawn.
    */
  private def change(own: PodContainer, requested: PodLimits): Future[Boolean] =
    val before = own.limits.current
    def held(snapshot: PodSnapshot): Option[Boolean] = snapshot match
      case PodSnapshot.Present(pod) if PodState.exit(snapshot).isEmpty =>
        if PodState.limits(pod).contains(requested) then Some(true)
        else Option.when(PodState.refused(pod, requested))(false)
      case _ => Some(false)
    propose(own, requested).flatMap: accepted =>
      if !accepted || before == requested then Future.successful(accepted)
      else
        own.pod.until(held, ResizeBound).flatMap: outcome =>
          if outcome.contains(true) then Future.successful(true) else propose(own, before).map(_ => false)

  /** Whether the API accepts the limits, which the kubelet then applies. */
  private def propose(own: PodContainer, requested: PodLimits): Future[Boolean] =
    own.limits
      .change(requested): _ =>
        if !cluster.resizes then Change.Refused
        else
          val patch = s"""[{"op":"replace","path":"/spec/containers/0/resources","value":${cluster.json(
              requested.resources
            )}}]"""
          Try(cluster.pods.withName(own.id).subresource("resize").patch(AsJsonPatch, patch)).fold(
            problem =>
              log.debug("pod {} cannot be resized: {}", own.id, KubernetesCluster.reason(problem))
              Change.Failed
            ,
            _ => Change.Made
          )
      .map(_ == Change.Made && !own.exit.isCompleted)

  // ---- Stopping ------------------------------------------------------------------------------------------

  def stop(container: Container): Future[StopOutcome] = container match
    case own: PodContainer =>
      // Its CPUs and memory are free as soon as it is dead; the kubelet takes longer to clean up.
      Future.firstCompletedOf(Seq(own.exit.map(_ => StopOutcome.Stopped), remove(own.pod)))
    case _ => Future.successful(StopOutcome.Stopped)

  def removeOrphans(): Future[Int] =
    for
      removed <- Future.traverse(watched.orphans())(remove)
      _ <- Future(demand.foreach(_.clear()))
      _ <- Future(cluster.secrets.withLabel(PackPod.OwnerLabel, owner).delete()).recover: problem =>
        log.error("cannot remove tokens of an earlier run: {}", KubernetesCluster.reason(problem))
    yield removed.size

  def close(): Future[Unit] =
    closing = true
    for
      _ <- Future.traverse(watched.all)(remove)
      _ <- Future.sequence(removals.asScala.toVector)
      _ <- Future(demand.foreach(_.close()))
    yield
      watched.close()
      rooms.foreach(_.close())
      cluster.close()

  /** Completes when the API no longer knows the pod, that is, when its kubelet has confirmed its end. */
  private def remove(pod: WatchedPod): Future[StopOutcome] =
    val removal = pod.creationAnswered.future
      .map(_ => delete(pod))
      .flatMap(_ => pod.until(PodState.deleted, settings.stopTimeout))
      .flatMap:
        case Some(()) => Future.successful(StopOutcome.Stopped)
        case None => Future(lookFor(pod))
      .recover: problem =>
        notStopped(pod, KubernetesCluster.reason(problem))
    removals.add(removal)
    removal.onComplete(_ => removals.remove(removal))
    removal

  private def delete(pod: WatchedPod): Unit = if !pod.isDeleted then
    deleteToken(pod.name)
    if cluster.pods.withName(pod.name).delete().isEmpty then watched.lost(pod.name)

  private def deleteToken(name: String): Unit =
    Try(cluster.secrets.withName(name).delete()).failed.foreach: problem =>
      log.warn("token of pod {} cannot be deleted: {}", name, KubernetesCluster.reason(problem))

  /** Catches what the watch missed. */
  private def lookFor(pod: WatchedPod): StopOutcome =
    if cluster.pods.withName(pod.name).get() == null then
      watched.lost(pod.name)
      StopOutcome.Stopped
    else notStopped(pod, s"its node has not confirmed its end within ${settings.stopTimeout.toCoarsest}")

  private def notStopped(pod: WatchedPod, why: String): StopOutcome =
    log.error("pod {} cannot be removed: {}", pod.name, why)
    StopOutcome.NotStopped(s"pod ${pod.name} cannot be removed: $why")

object KubernetesDriver:
  private val ConnectTimeout = 1.second
  private val RetryPause = 20.millis
  private val ResizeBound = 5.seconds
  private val AsJsonPatch = PatchContext.of(PatchType.JSON)

/** A pod with a runtime in it. A pre-warmed one gets another instance, for the same pod, once it has a
  * package.
  */
private final class PodContainer(
    val pod: WatchedPod,
    val address: RuntimeAddress,
    val source: PackageSource,
    val limits: HeldLimits[PodLimits]
) extends Container:
  def id: String = pod.name
  def exit: Future[ContainerExit] = pod.exit
  def withPackage(source: PackageSource): PodContainer = PodContainer(pod, address, source, limits)
