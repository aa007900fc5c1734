package burst.invoker.pack

import burst.invoker.driver.{
  Container,
  ContainerBase,
  ContainerExit,
  NetworkAccess,
  PackResources,
  StopOutcome
}
import burst.invoker.packages.PackageCache
import burst.invoker.runtime.Refusal
import burst.node.MonotonicTime
import burst.node.logs.LogIds.of
import burst.protocol.*
import java.nio.file.Path
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.{Duration, FiniteDuration}

/** A pack from its supply to its end, whatever runs on it in between: it gets its container, and gives it
  * back.
  */
private[pack] abstract class PackLifecycle(
    fullAssignment: PackAssignment,
    replyTo: ActorRef[PackReport],
    firstLease: Option[MonotonicTime],
    at: PackContext
) extends PackStates(fullAssignment.withoutInputs, replyTo, at):
  import PackActor.*
  import at.{context, services}
  import services.driver

  private var lease = firstLease

  protected val key: PackKey = assignment.packKey

  /** Called when it has its container; a warm one already runs the program. */
  protected def supplied(pack: LoadedPack, start: PackStart): Behavior[Command]

  /** Reports the end of a pack, and sends `finished`, what it leaves, to the invoker. */
  protected def end(error: Option[Failure], finished: Finished): Unit

  def onOther(command: Command): Unit = command match
    case RenewLease(until) => renewLease(until)
    case _ => ()

  /** On a group's pack the flares have the group's lease. */
  def renewLease(until: MonotonicTime): Unit = lease = Some(until)

  def remainingLease: Option[FiniteDuration] =
    lease.map(until => (until - MonotonicTime.now()).max(Duration.Zero))

  def begin(supply: Supply): Behavior[Command] = supply match
    case Supply.Nothing => fetch(None)
    case Supply.Prewarmed(container) => fetch(Some(container))
    case Supply.Starting => waiting
    case Supply.Shared(pack) => join(pack)
    case Supply.Warm(pack) =>
      if pack.shape.workers == shape.workers && !pack.throttled then supplied(pack, PackStart.Warm)
      else resize(pack)

  // ---- Joining -------------------------------------------------------------------------------------------

  /** Waits while another call starts the container. */
  private def waiting: Behavior[Command] = receive:
    case Join(Some(pack)) => join(pack)
    case Join(None) => fetch(None)
    case Ending(failure) => stop(Some(failure))

  /** Joins a container. Each call holds the package for as long as it uses the container. */
  private def join(pack: LoadedPack): Behavior[Command] =
    acquirePackage()
    joining(pack, aborted = None)

  private def joining(pack: LoadedPack, aborted: Option[Failure]): Behavior[Command] = receive:
    case PackageReady(Right(_)) if aborted.isDefined => leaveShared(pack, aborted, spent = false)
    case PackageReady(Right(_)) =>
      joined = true
      supplied(pack, PackStart.Warm)
    // Nobody held the package any more, so the container has lost its files.
    case PackageReady(Left(failure)) => leaveShared(pack, aborted.orElse(Some(failure)), spent = true)
    case Ending(failure) => joining(pack, aborted.orElse(Some(failure)))

  /** Whether the container was already there for another call, and may still run others. */
  private var joined = false

  def isJoined: Boolean = joined

  /** Ends, and leaves the container to the other calls in it; if it is `spent` no further ones join. */
  protected def leaveShared(pack: LoadedPack, error: Option[Failure], spent: Boolean): Behavior[Command] =
    end(error, Finished(key, Some(pack), spent = spent))
    Behaviors.stopped

  // ---- Resizing, Replacing -------------------------------------------------------------------------------

  private def resize(pack: LoadedPack): Behavior[Command] =
    pipeToSelf(driver.resize(pack.container, resources(pack.packagePath)))(_.getOrElse(false))(Resized(_))
    receive:
      case Resized(true) => supplied(pack.copy(shape = shape, throttled = false), PackStart.Warm)
      case Resized(false) => replace(pack)
      case Ending(failure) => destroy(pack, Some(failure))

  /** The warm pack is unusable: a cold one replaces it, unless the flare has ended meanwhile. */
  protected def replace(pack: LoadedPack, aborted: Option[Failure] = None): Behavior[Command] =
    pipeToSelf(driver.stop(pack.container))(asOutcome)(Removed(_))
    replacing(pack, aborted)

  private def replacing(pack: LoadedPack, aborted: Option[Failure]): Behavior[Command] = receive:
    case Removed(outcome) =>
      release(outcome)
      aborted.fold(fetch(None))(failure => stop(Some(failure)))
    case Ending(failure) => replacing(pack, aborted.orElse(Some(failure)))

  // ---- Fetching ------------------------------------------------------------------------------------------

  private def fetch(prewarmed: Option[Container]): Behavior[Command] =
    acquirePackage()
    receive:
      case PackageReady(Right(directory)) => prewarmed.fold(create(directory))(adopt(_, directory))
      case PackageReady(Left(failure)) => stop(Some(failure), prewarmed)
      case Ending(failure) => leave(Some(failure), prewarmed)

  private def acquirePackage(): Unit =
    val answer = context.messageAdapter[Either[Failure, Path]](PackageReady(_))
    services.packages ! PackageCache.Acquire(shape.definition.packageId, answer)

  /** Nothing of this pack is on the machine, so its end is reported now; only the package has to be returned.
    */
  private def leave(error: Option[Failure], prewarmed: Option[Container]): Behavior[Command] =
    end(error, Finished(key, None, prewarmed))
    receive:
      case PackageReady(outcome) =>
        outcome.foreach(_ => releasePackage())
        Behaviors.stopped

  // ---- Adopting ------------------------------------------------------------------------------------------

  private def adopt(prewarmed: Container, directory: Path): Behavior[Command] =
    pipeToSelf(driver.adopt(prewarmed, resources(directory)))(_.toOption.flatten)(Adopted(_))
    adopting(prewarmed, directory, aborted = None)

  private def adopting(prewarmed: Container, directory: Path, aborted: Option[Failure]): Behavior[Command] =
    receive:
      case Adopted(Some(container)) =>
        val pack = LoadedPack(container, shape, directory)
        watchExit(container)
        aborted.fold(supplied(pack, PackStart.Prewarmed))(failure => destroy(pack, Some(failure)))
      case Adopted(None) =>
        pipeToSelf(driver.stop(prewarmed))(asOutcome)(Removed(_))
        discarding(directory, aborted)
      case Ending(failure) => adopting(prewarmed, directory, aborted.orElse(Some(failure)))

  /** The pre-warmed container is unusable: a new one replaces it. */
  private def discarding(directory: Path, aborted: Option[Failure]): Behavior[Command] = receive:
    case Removed(_) if aborted.isEmpty => create(directory)
    case Removed(_) =>
      releasePackage()
      stop(aborted)
    case Ending(failure) => discarding(directory, aborted.orElse(Some(failure)))

  // ---- Creating ------------------------------------------------------------------------------------------

  private def create(directory: Path): Behavior[Command] =
    pipeToSelf(driver.start(resources(directory)))(asAnswer)(Created(_))
    creating(directory, aborted = None)

  private def creating(directory: Path, aborted: Option[Failure]): Behavior[Command] = receive:
    case Created(Right(container)) =>
      val pack = LoadedPack(container, shape, directory)
      watchExit(container)
      aborted.fold(supplied(pack, PackStart.Cold))(failure => destroy(pack, Some(failure)))
    case Created(Left(failure)) =>
      releasePackage()
      stop(aborted.orElse(Some(during(Operation.Create, failure))))
    case Ending(failure) => creating(directory, aborted.orElse(Some(failure)))

  /** Sends a request once the program has its network: user code may run as soon as the runtime gets it. */
  protected def connected[A](pack: LoadedPack)(
      ask: => Future[Either[Refusal, A]]
  ): Future[Either[Refusal, A]] =
    val access = NetworkAccess(
      assignment.flareId,
      assignment.packSizes.size,
      assignment.backend,
      assignment.egress,
      assignment.elsewhere
    )
    driver.connect(pack.container, access).flatMap:
      case Right(()) => ask
      case Left(failure) =>
        Future.successful(Left(Refusal(
          failure.message,
          operation = during(Operation.Create, failure).operation
        )))

  // ---- Destroying, Ended ---------------------------------------------------------------------------------

  def destroy(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
    pipeToSelf(driver.stop(pack.container))(asOutcome)(Removed(_))
    receive:
      case Removed(outcome) =>
        release(outcome)
        stop(error)

  private def stop(error: Option[Failure], unused: Option[Container] = None): Behavior[Command] =
    end(error, Finished(key, None, unused))
    Behaviors.stopped

  private def release(outcome: StopOutcome): Unit = outcome match
    case StopOutcome.Stopped => releasePackage()
    case StopOutcome.NotStopped(reason, removal) =>
      removal.foreach(_ => releasePackage())(using ExecutionContext.parasitic)
      context.log.atError().of(
        assignment.flareId,
        assignment.origin
      ).log("pack {}: {}", assignment.pack, reason)

  private def releasePackage(): Unit =
    services.packages ! PackageCache.Release(shape.definition.packageId)

  private def watchExit(container: Container): Unit =
    context.pipeToSelf(container.exit)(exit => Exited(container.id, ContainerExit.of(exit)))

  private def resources(directory: Path) =
    PackResources(
      shape.workers,
      shape.memoryMiB,
      directory,
      ContainerBase.of(shape.definition),
      shape.node
    )
