package burst.invoker.driver

import burst.invoker.packages.PackageForm
import burst.protocol.{ClusterRoom, DefinitionRef, Failure, FailureKind, Operation, Secret, WantedPacks}
import java.nio.file.Path
import scala.annotation.unused
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.util.Try

/** What a program finds in its container besides its package. */
enum ContainerBase:
  /** The C library and its companions. */
  case Libraries

  /** Interpreters as well, for functions of other languages. */
  case Interpreters

  /** The contents of an image of the user's own. */
  case Image(name: String)

object ContainerBase:
  def of(definition: DefinitionRef): ContainerBase =
    definition.image.map(Image(_)).getOrElse:
      if definition.kind == DefinitionRef.Rust then Libraries else Interpreters

  /** The failure for an image that cannot be used, through no fault of the machine. */
  def refused(image: String, reason: String): Failure =
    Failure(
      FailureKind.InvalidInput,
      s"The image '$image' cannot be run: $reason.",
      operation = Some(Operation.Image)
    )

  /** The failure of a driver that cannot run images. */
  def unsupported(image: String, driver: String): Failure =
    refused(
      image,
      s"the driver '$driver' runs no images of users' own, so start the invoker with --driver docker"
    )

/** What one container must offer its pack. `memoryMiB` is per worker; `packagePath` is where this machine has
  * the package, in the form that the driver needs; `node` is the node of a cluster on which its slots are.
  */
final case class PackResources(
    workers: Int,
    memoryMiB: Int,
    packagePath: Path,
    base: ContainerBase,
    node: Option[String] = None
)

/** How the runtime in a container gets its package. */
enum PackageSource:
  /** The package is there: in this directory, as the runtime sees it. */
  case Mounted(directory: String)

  /** The package is sent: this file of the invoker's, as it was uploaded. */
  case Sent(archive: Path)

/** Where a runtime listens, and its token: it accepts requests only with the token, and so none from users'
  * code in other containers. Packs elsewhere also reach this one at `host` (`RunPack.advertise`).
  */
final case class RuntimeAddress(host: String, port: Int, token: Secret)

object RuntimeAddress:
  /** The variable of a runtime's environment that holds its token. */
  val TokenVariable = "BURST_RUNTIME_TOKEN"

/** How a container ended. `oomKilled` is whether the kernel killed a process in it because memory was
  * exhausted, `reason` is the one given by whoever ended it from outside.
  */
final case class ContainerExit(code: Option[Int], oomKilled: Boolean, reason: Option[String] = None):
  /** The end of a sentence: `ended with code 1`. */
  def how: String =
    val verb = if oomKilled then "was killed for want of memory" else "ended"
    verb + code.fold("")(code => s" with code $code") + reason.fold("")(reason => s": $reason")

object ContainerExit:
  /** If the driver could not find out, the exit is unknown. */
  def of(outcome: Try[ContainerExit]): ContainerExit =
    outcome.getOrElse(ContainerExit(None, oomKilled = false))

/** A place with a runtime in it that is ready for requests. */
trait Container:
  def id: String
  def address: RuntimeAddress

  def source: PackageSource

  /** Completes once the container has ended, by itself or by `Driver.stop`. Never fails. */
  def exit: Future[ContainerExit]

enum StopOutcome:
  /** Nothing of the container runs any more. The driver removes what is left of it on disk. */
  case Stopped

  /** It could not be removed within the bound. The driver may go on trying, and completes `stopped` when it
    * has succeeded; otherwise, an operator has to intervene.
    */
  case NotStopped(reason: String, stopped: Future[Unit] = Future.never)

  /** Completes when it is gone, or after `within`. */
  def settled(within: FiniteDuration)(using ExecutionContext): Future[Unit] = this match
    case Stopped => Future.unit
    case NotStopped(_, stopped) =>
      val over = Promise[Unit]()
      Delay.after(within):
        val _ = over.trySuccess(())
      Future.firstCompletedOf(Vector(stopped, over.future))

object StopOutcome:
  /** How long a driver that closes waits for what is slow to end: less than a node's stop may take. */
  val LingerTimeout: FiniteDuration = 5.seconds

object Driver:
  private[driver] def startFailed(message: String): Failure = Failure(FailureKind.StartFailed, message)

/** Starts and removes the containers packs run in. There is one implementation per kind of container; all
  * keep the same contract, which `DriverContractSuite` checks for every one of them.
  *
  *   - `start` returns a container whose runtime accepts connections, or a failure with nothing left behind.
  *     So does `prewarm`, whose container sees no package until `adopt`.
  *   - `stop` may be called any number of times, also for a container that died; it completes when nothing of
  *     the container runs or holds memory any more.
  *   - `close` completes when nothing of any container is left on the machine, or what is slow to end has had
  *     `LingerTimeout`.
  *   - No future of a driver fails: its result says what went wrong.
  */
trait Driver:
  /** The name shown to users: `process`, `sandbox`, `docker`, `kubernetes`. */
  def name: String

  /** What `PackResources.packagePath` must be. */
  def packageForm: PackageForm

  /** Whether packs are on this machine, whose resources then bound the largest pack. */
  def isLocal: Boolean

  /** Whether an idle container keeps what it was promised: if so, slots are only free when no warm pack has
    * them.
    */
  def reserves: Boolean

  /** Which limits packs are held to, and by what, as a sentence without its full stop: logged at the start.
    */
  def limits: String

  /** How many MiB a pack's program may use, if its runtime has to enforce that because the container does
    * not.
    */
  def programMemory(@unused workers: Int, @unused memoryMiB: Int): Option[Long] = None

  /** What a cluster currently has for packs, if the invoker's slots follow it. */
  def room: Option[ClusterRoom] = None

  /** Sets the callback for changes of the room. */
  def onRoom(@unused changed: () => Unit): Unit = ()

  /** The packs that wait for room that the cluster does not have: all of them, whenever they change. */
  def requestRoom(@unused packs: Vector[WantedPacks]): Unit = ()

  /** Prepares what all containers need. Called once, after `removeOrphans` and before `start`. Throws
    * `SetupException`.
    */
  def open(): Unit = ()

  def start(resources: PackResources): Future[Either[Failure, Container]]

  /** Starts a container for any future pack, of any kind; its size is a guess. */
  def prewarm(workers: Int, memoryMiB: Int): Future[Either[Failure, Container]]

  /** Turns a pre-warmed container into one for a pack; the result says where its package is. It has what the
    * pack needs; it may have more until `confine`, or for a moment if that is not called. `None` if that
    * failed: the container is then unusable.
    */
  def adopt(container: Container, resources: PackResources): Future[Option[Container]]

  /** Begins to hold an adopted container to its pack's limits; one that already exceeds them is killed.
    * Called when its program is up. Does nothing if `adopt` already holds it to them.
    */
  def confine(@unused container: Container): Unit = ()

  /** Lets a container reach what the flare it will run needs, and nothing else. Until then it reaches
    * nothing: if closing it after `disconnect` takes a while, this waits for it, and fails if it cannot be
    * closed. A driver that cannot isolate packs does nothing.
    */
  def connect(
      @unused container: Container,
      @unused access: NetworkAccess
  ): Future[Either[Failure, Unit]] = Future.successful(Right(()))

  /** The endpoint at which packs of other invokers find a container's program that listens on `endpoint`: the
    * same, unless the container was connected to some of them by another way.
    */
  def publish(@unused container: Container, endpoint: String): String = endpoint

  /** The endpoints at which a container's program finds its flare's packs, including itself, given their
    * published endpoints. Returns the same for the same endpoints.
    */
  def find(
      @unused container: Container,
      endpoints: Vector[Option[String]]
  ): Future[Either[Failure, Vector[Option[String]]]] = Future.successful(Right(endpoints))

  /** Called when the container is idle: it must not reach anything any more. */
  def disconnect(@unused container: Container): Unit = ()

  /** Holds a container to the CPUs of this many workers, when others of its pack have ended. Memory stays
    * unchanged: ended workers may not have released theirs. Returns `false` if it failed.
    */
  def throttle(container: Container, workers: Int): Future[Boolean]

  /** Fits an idle container to another number of workers. Returns `false` if it failed: take another one. */
  def resize(container: Container, resources: PackResources): Future[Boolean]

  def stop(container: Container): Future[StopOutcome]

  /** Removes what an earlier process of this invoker left, and returns how many containers there were. Called
    * before `start`.
    */
  def removeOrphans(): Future[Int]

  /** Stops every container that still exists, waits until all are removed, and releases the driver's own
    * resources.
    */
  def close(): Future[Unit]
