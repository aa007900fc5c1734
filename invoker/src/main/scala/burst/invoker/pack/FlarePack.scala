package burst.invoker.pack

import burst.invoker.runtime.Refusal
import burst.node.MonotonicTime
import burst.protocol.*
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.Future

/** A pack that runs one flare, and is then kept warm if possible. */
private[pack] final class FlarePack(
    fullAssignment: PackAssignment,
    replyTo: ActorRef[PackReport],
    lease: Option[MonotonicTime],
    at: PackContext
) extends PackLifecycle(fullAssignment, replyTo, lease, at),
      FlareHost:
  import PackActor.*
  import at.{invoker, services}
  import services.driver

  private val run = FlareRun(fullAssignment, replyTo, this, at)

  override def begin(supply: Supply): Behavior[Command] =
    run.limitTime()
    super.begin(supply)

  protected def stopped(): Unit = run.close()

  protected def supplied(pack: LoadedPack, start: PackStart): Behavior[Command] = run.open(pack, start)

  protected def end(error: Option[Failure], finished: Finished): Unit =
    run.close()
    at.watch.ended(error)
    invoker ! finished
    run.ended(error)

  // ---- For its flare -------------------------------------------------------------------------------------

  def group: Option[FlareId] = None

  def reach[A](pack: LoadedPack)(ask: => Future[Either[Refusal, A]]): Future[Either[Refusal, A]] =
    if isJoined then ask else connected(pack)(ask)

  def replaced(pack: LoadedPack): Option[Behavior[Command]] =
    Some(if isJoined then leaveShared(pack, Some(FlarePack.ContainerFull), spent = true) else replace(pack))

  def onProgramUp(pack: LoadedPack): Unit = if assignment.shared.isDefined then invoker ! Shares(key, pack)

  def keep(pack: LoadedPack)(report: => Unit): Behavior[Command] =
    // If others can be in the container, the invoker knows when it is idle.
    if assignment.shared.isEmpty then driver.disconnect(pack.container)
    at.watch.ended(None)
    invoker ! Finished(key, Some(pack))
    report
    Behaviors.stopped

  def spent(pack: LoadedPack, error: Option[Failure]): Behavior[Command] =
    if assignment.shared.isEmpty then destroy(pack, error) else leaveShared(pack, error, spent = true)

private object FlarePack:
  /** Why a call has not begun beside others. It has no slot for a container of its own, and is placed again.
    */
  val ContainerFull: Failure =
    Failure(
      FailureKind.PackLost,
      "the container that it was to join takes no more",
      operation = Some(Operation.Start)
    )
