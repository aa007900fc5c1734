package burst.invoker.driver

import burst.invoker.packages.PackageForm
import burst.protocol.{ClusterRoom, DefinitionRef, Failure, FailureKind, Operation, Secret, WantedPacks}
import java.nio.file.Path
import scala.annotation.unused
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.Try

/** What a program finds in its container beside its package. */
enum ContainerBase:
  /** The C library, and what belongs to it. */
  case Libraries

  /** Interpreters as well, for functions of other languages. */
  case Interpreters

  /** What an image of its user's own has. */
  case Image(name: String)

object ContainerBase:
  def of(definition: DefinitionRef): ContainerBase =
    definition.image.map(Image(_)).getOrElse:
      if definition.kind == DefinitionRef.Rust then Libraries else Interpreters

  /** Why an image is of no use, which is no fault of the machine's. */
  def refused(image: String, reason: String): Failure =
    Failure(
      FailureKind.InvalidInput,
      s"The image '$image' cannot be run: $reason.",
      operation = Some(Operation.Image)
    )

  /** What a driver that cannot run images says. */
  def unable(image: String, driver: String): Failure =
    refused(
      image,
      s"the driver '$driver' runs no images of users' own, so start the invoker with --driver docker"
    )

/** What one container must offer its pack. `memoryMiB` is per worker; `packagePath` is where this machine has
  * the package, in the form the driver wants it; `node` is where in a cluster its slots are.
  */
final case class PackResources(
    workers: Int,
    memoryMiB: Int,
    packagePath: Path,
    base: ContainerBase,
    node: Option[String] = None
)

/** How the runtime in a container comes to its package. */
enum PackageSource:
  /** It is there: in this directory, as the runtime sees it. */
  case Mounted(directory: String)

  /** It is sent: this file of the invoker's, as it was uploaded. */
  case Sent(archive: Path)

/** Where a runtime listens, and what it asks for: it takes orders from nobody who does not know its token,
  * such as users' code in other containers. The host is also what packs elsewhere reach this one by
  * (`RunPack.advertise`).
  */
final case class RuntimeAddress(host: String, port: Int, token: Secret)

object RuntimeAddress:
  /** The variable of a runtime's environment that holds its token. */
  val TokenVariable = "BURST_RUNTIME_TOKEN"

/** How a container came to its end. `oomKilled` says that the kernel killed in it for want of memory,
  * `reason` is what whoever ended it from outside gave for it.
  */
final case class ContainerExit(code: Option[Int], oomKilled: Boolean, reason: Option[String] = None):
  /** As a sentence goes on: `ended with code 1`. */
  def how: String =
    val verb = if oomKilled then "was killed for want of memory" else "ended"
    verb + code.fold("")(code => s" with code $code") + reason.fold("")(reason => s": $reason")

object ContainerExit:
  /** Where a driver could not tell how it was, it is unknown. */
  def of(told: Try[ContainerExit]): ContainerExit = told.getOrElse(ContainerExit(None, oomKilled = false))

/** A place with a runtime in it, ready to be talked to. */
trait Container:
  def id: String
  def address: RuntimeAddress

  def source: PackageSource

  /** Completes once the container has come to its end, by itself or by `Driver.stop`. Never fails. */
  def exit: Future[ContainerExit]

enum StopOutcome:
  /** Nothing of the container runs any more. Removing what is left of it on disk is the driver's business. */
  case Gone

  /** It could not be removed within the bound. The driver may go on trying, and completes `gone` when it is;
    * if not, an operator has to look.
    */
  case StillThere(reason: String, gone: Future[Unit] = Future.never)

  /** Completes when it is gone, or after so long. */
  def settled(within: FiniteDuration)(using ExecutionContext): Future[Unit] = this match
    case Gone => Future.unit
    case StillThere(_, gone) =>
      val over = Promise[Unit]()
      Delay.after(within):
        val _ = over.trySuccess(())
      Future.firstCompletedOf(Vector(gone, over.future))

object StopOutcome:
  /** How long a driver that closes waits for what is slow to end, which is less than a node's stop may take.
    */
  val Lingers: FiniteDuration = 5.seconds

object Driver:
  private[driver] def startFailed(message: String): Failure = Failure(FailureKind.StartFailed, message)

/** Starts and removes the containers packs run in. One implementation per kind of container; all keep the
  * same contract, which `DriverContractSuite` runs against every one of them.
  *
  *   - `start` answers with a container whose runtime accepts connections, or with a failure and nothing left
  *     behind. So does `prewarm`, whose container sees no package until `adopt`.
  *   - `stop` may be called any number of times and also for a container that died; it answers when nothing
  *     of the container runs or holds memory any more.
  *   - `close` answers when nothing of any container is left on the machine, or what is slow to end has had
  *     `Lingers`.
  *   - No future of a driver fails: what can go wrong is in its answer.
  */
trait Driver:
  /** As shown to users: `process`, `sandbox`, `docker`, `kubernetes`. */
  def name: String

  /** What `PackResources.packagePath` must be. */
  def packageForm: PackageForm

  /** Whether packs are on this machine, which then is what the largest has. */
  def isLocal: Boolean

  /** Whether what a container is promised is nobody else's while it is idle: slots are then only free when no
    * warm pack has them.
    */
  def reserves: Boolean

  /** What packs are held to, and by what, as a sentence without its full stop: said at the start. */
  def limits: String

  /** How many MiB a pack's program may have, where its runtime is to hold it to them as the container does
    * not.
    */
  def programMemory(@unused workers: Int, @unused memoryMiB: Int): Option[Long] = None

  /** What a cluster has for packs now, where the invoker's slots follow that. */
  def room: Option[ClusterRoom] = None

  /** Whom to tell when that has changed. */
  def onRoom(@unused changed: () => Unit): Unit = ()

  /** What waits for room that the cluster does not have: all of it, each time that it is another. */
  def want(@unused packs: Vector[WantedPacks]): Unit = ()

  /** Makes ready what all containers need. Called once, after `removeOrphans` and before `start`. Throws
    * `SetupException`.
    */
  def open(): Unit = ()

  def start(resources: PackResources): Future[Either[Failure, Container]]

  /** Starts a container for whatever pack will come, of any kind: of this size as a guess. */
  def prewarm(workers: Int, memoryMiB: Int): Future[Either[Failure, Container]]

  /** Turns a pre-warmed container into one for a pack; the answer says where its package is. It has what the
    * pack needs; it may have more until `confine`, or for a moment if that is not called. `None` when it
    * could not be done: the container is then of no use.
    */
  def adopt(container: Container, resources: PackResources): Future[Option[Container]]

  /** Begins to hold a container that was adopted to its pack's limits; one that has gone beyond them already
    * is killed. Called when its program is up. Where `adopt` holds it to them already there is nothing to do.
    */
  def confine(@unused container: Container): Unit = ()

  /** Lets a container reach what the flare it is to run needs, and nothing else. Until then it reaches
    * nothing: where that takes a while after `disconnect` this waits for it, and fails if it cannot be had. A
    * driver that cannot keep packs apart does nothing.
    */
  def connect(
      @unused container: Container,
      @unused access: NetworkAccess
  ): Future[Either[Failure, Unit]] = Future.successful(Right(()))

  /** Where packs of other invokers find a container's program that is found at `endpoint` itself: there,
    * unless it was connected to some of them by another way.
    */
  def publish(@unused container: Container, endpoint: String): String = endpoint

  /** Where a container's program finds its flare's packs, itself among them, whose published endpoints these
    * are. Asked again with the same ones it answers the same.
    */
  def find(
      @unused container: Container,
      endpoints: Vector[Option[String]]
  ): Future[Either[Failure, Vector[Option[String]]]] = Future.successful(Right(endpoints))

  /** The container is idle, and is to reach nothing. */
  def disconnect(@unused container: Container): Unit = ()

  /** Holds a container to the CPUs of so many workers, while others of its pack have ended. Memory is left as
    * it is: what ended workers used may not have come back. `false`: it could not be done.
    */
  def throttle(container: Container, workers: Int): Future[Boolean]

  /** Fits an idle container to another number of workers. `false`: it could not be done, take another. */
  def resize(container: Container, resources: PackResources): Future[Boolean]

  def stop(container: Container): Future[StopOutcome]

  /** Removes what an earlier life of this invoker left, and says how many there were. Called before `start`.
    */
  def removeOrphans(): Future[Int]

  /** Stops every container that is still there, waits until all are removed, and releases the driver's own
    * resources.
    */
  def close(): Future[Unit]
