package burst.invoker.pack

import burst.invoker.driver.*
import burst.invoker.packages.PackageForm
import burst.protocol.{ClusterRoom, Failure}
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters.*

final class FakeContainer(val id: String, val address: RuntimeAddress, val source: PackageSource)
    extends Container:
  val ended: Promise[ContainerExit] = Promise()

  /** How often the container's end was watched. */
  val watches: AtomicInteger = AtomicInteger()
  def exit: Future[ContainerExit] =
    watches.incrementAndGet()
    ended.future

/** A driver whose containers are all the same fake runtime, and which does what the test tells it. */
final class FakeDriver(@volatile var address: RuntimeAddress) extends Driver:
  private val serial = AtomicInteger()
  val started: ConcurrentLinkedQueue[PackResources] = ConcurrentLinkedQueue()
  val stopped: ConcurrentLinkedQueue[String] = ConcurrentLinkedQueue()
  val resized: ConcurrentLinkedQueue[Int] = ConcurrentLinkedQueue()

  /** Completes before a start is answered; a failure is returned instead of a container. */
  @volatile var beforeStart: Future[Option[Failure]] = Future.successful(None)
  @volatile var beforeStop: Future[StopOutcome] = Future.successful(StopOutcome.Stopped)
  @volatile var resizable = true

  def name = "fake"
  def isLocal = true
  def packageForm = PackageForm.Directory
  def limits = "nothing is held to anything"
  override def programMemory(workers: Int, memoryMiB: Int): Option[Long] =
    Some(workers.toLong * memoryMiB + 1)
  @volatile var reserves = false

  /** The room of a cluster, and the listener for its changes. */
  @volatile private var cluster = Option.empty[ClusterRoom]
  @volatile private var listener: () => Unit = () => ()
  override def room: Option[ClusterRoom] = cluster
  override def onRoom(changed: () => Unit): Unit = listener = changed
  def setRoom(room: ClusterRoom): Unit =
    cluster = Some(room)
    listener()

  val adopted: ConcurrentLinkedQueue[PackResources] = ConcurrentLinkedQueue()
  val throttled: ConcurrentLinkedQueue[Int] = ConcurrentLinkedQueue()
  @volatile var adoptable = true

  val prewarmed: ConcurrentLinkedQueue[(Int, Int)] = ConcurrentLinkedQueue()
  val confined: ConcurrentLinkedQueue[String] = ConcurrentLinkedQueue()

  def prewarm(workers: Int, memoryMiB: Int): Future[Either[Failure, Container]] =
    val _ = prewarmed.add((workers, memoryMiB))
    Future.successful(Right(container()))

  override def confine(container: Container): Unit =
    val _ = confined.add(container.id)

  val connected: ConcurrentLinkedQueue[(String, NetworkAccess)] = ConcurrentLinkedQueue()
  val disconnected: ConcurrentLinkedQueue[String] = ConcurrentLinkedQueue()

  /** The failure of the next connections, if any. */
  @volatile var connecting: Future[Option[Failure]] = Future.successful(None)

  override def connect(container: Container, access: NetworkAccess): Future[Either[Failure, Unit]] =
    connected.add((container.id, access))
    connecting.map(_.toLeft(()))(using ExecutionContext.parasitic)

  /** The endpoint that others use for a container, and the ones that it uses for others. */
  @volatile var published: String => String = identity
  @volatile var found: Either[Failure, String => String] = Right(identity)

  override def publish(container: Container, endpoint: String): String = published(endpoint)
  override def find(
      container: Container,
      endpoints: Vector[Option[String]]
  ): Future[Either[Failure, Vector[Option[String]]]] =
    Future.successful(found.map(found => endpoints.map(_.map(found))))

  override def disconnect(container: Container): Unit =
    val _ = disconnected.add(container.id)

  def adopt(container: Container, resources: PackResources): Future[Option[Container]] =
    adopted.add(resources)
    Future.successful(Option.when(adoptable)(container))

  def throttle(container: Container, workers: Int): Future[Boolean] =
    throttled.add(workers)
    Future.successful(resizable)

  def start(resources: PackResources): Future[Either[Failure, Container]] =
    started.add(resources)
    beforeStart.map(_.toLeft(container()))(using ExecutionContext.parasitic)

  @volatile var source: PackageSource = PackageSource.Mounted("/package")
  @volatile var lastContainer: FakeContainer = FakeContainer("none", address, source)

  def container(): FakeContainer =
    lastContainer = FakeContainer(s"c${serial.incrementAndGet()}", address, source)
    lastContainer

  def resize(container: Container, resources: PackResources): Future[Boolean] =
    resized.add(resources.workers)
    Future.successful(resizable)

  def stop(container: Container): Future[StopOutcome] =
    stopped.add(container.id)
    beforeStop

  def removeOrphans(): Future[Int] = Future.successful(0)
  def close(): Future[Unit] = Future.unit

  def stops: Vector[String] = stopped.asScala.toVector
