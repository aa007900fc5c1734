package burst.invoker.pack

import burst.invoker.driver.{Container, ContainerExit, StopOutcome}
import burst.invoker.metrics.PackWatch
import burst.invoker.runtime.{EventStream, Refusal}
import burst.node.MonotonicTime
import burst.protocol.*
import java.nio.file.Path
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorRef, Behavior}

/** One pack of one flare, from `PreparePack` to its one `PackEnded`.
  *
  * {{{
  *      warm pack of another size            no warm pack      (pre-warmed) Adopting
  *               │                                │               ▲    │ cannot  │
  *               ▼         cannot                 ▼               │    ▼         ▼
  *           Resizing ────────────▶ Replacing ▶ Fetching ──────────▶ Creating ──▶│
  *               │                      ▲      (package)           (container)   │
  *   warm ──────▶│                      │ warm pack turns out dead               │
  *               └──────────────▶ Opening ◀──────────────────────────────────────┘
  *                                   │ the runtime took the pack, and has started its program
  *                                   ▼
  *                                Running ──────────── pack-ended, reusable ─────────▶ Ended
  *                                   │ pack-ended, not reusable;                  (to the pool)
  *                                   │ stream broken or container dead (Breaking);
  *                                   │ not ended in time after an abort
  *                                   ▼
  *                               Destroying ────────── container is gone ────────────▶ Ended
  * }}}
  *
  *   - An abort in any state before Running ends in Destroying, or immediately if there is no container yet.
  *     Creating cannot be interrupted: it waits for the driver's answer, which is bounded.
  *   - In Running an abort is passed to the runtime, whose workers return and whose grace period then kills
  *     the program; `timings.abort` bounds the runtime itself.
  *   - In a cluster a pack has a lease, which the runtime enforces: if this process is stalled or cut off,
  *     the pack is dead by the time the scheduler considers it dead.
  *   - The flare's deadline plus a slack aborts by itself, in case nobody else is left to do it.
  *   - In Running, slots of workers that have ended are given back while others go on: first the container is
  *     limited to the CPUs of the remaining workers, then the controller is notified.
  *   - `PackEnded` is reported last, and if the pack was not reusable, only after its container is gone: its
  *     slots are free exactly when the machine is.
  *   - A group's pack rests where another pack would open: each flare of the group opens it, and it rests
  *     again when the flare has ended well. However it ends, both the flare that it ran and the group receive
  *     a report. ([[PackLifecycle]] brings it there and ends it, [[FlarePack]] runs one flare on it and
  *     [[GroupPack]] those of a group, each as a [[FlareRun]].)
  *   - Calls of an action can share a container: each has an actor of its own, and opens the container that
  *     another one created, or waits for it (Joining). The invoker keeps the container once the last of them
  *     has ended, or removes it: a call that has not ended well leaves it to the others, which its end must
  *     not harm, and is reported immediately. So is a call that the container no longer accepts, which has
  *     not begun.
  *   - A container that cannot be removed is logged as an error and reported like any other end. Its package
  *     stays held, since it may still be mounted.
  */
object PackActor:
  sealed trait Command

  /** The first message. Not part of the behavior, which would keep the inputs for as long as the pack exists.
    */
  final case class Begin(
      assignment: PackAssignment,
      supply: Supply,
      replyTo: ActorRef[PackReport],
      watch: PackWatch,
      lease: Option[MonotonicTime] = None
  ) extends Command

  final case class Start(flareId: FlareId, endpoints: Vector[Option[String]]) extends Command

  /** Makes a group's pack run this flare's part. */
  final case class Run(assignment: PackAssignment, replyTo: ActorRef[PackReport]) extends Command

  /** The controller has stored the outputs of the last report. */
  final case class OutputStored(flareId: FlareId) extends Command

  /** Ends the pack if it belongs to this flare, or to this group: its workers' operations return `failure`.
    * With `atOnce` there is no grace period.
    */
  final case class Abort(flareId: FlareId, failure: Failure, atOnce: Boolean) extends Command

  /** A container has exited. A pack watches a container that it is the first to use; the invoker watches warm
    * ones, and passes this on: a watch by each flare would stay for as long as the container.
    */
  private[invoker] final case class Exited(containerId: String, exit: ContainerExit) extends Command

  /** Sent to the invoker just before the final report: the pack to keep warm, if it can be kept, or the
    * pre-warmed container that was not needed after all. `answered` is the last flare of its group that has
    * been answered, or is about to be. A pack that is `spent` is unusable for others, but may still run
    * calls.
    */
  final case class Finished(
      key: PackKey,
      pack: Option[LoadedPack],
      unused: Option[Container] = None,
      answered: Option[FlareId] = None,
      spent: Boolean = false
  )

  /** Sent to the invoker about a container that calls share: its program runs, and others can join. */
  final case class Shares(key: PackKey, pack: LoadedPack)

  /** To a call that waits for that container: it is ready, or there is none and the call creates one itself.
    */
  final case class Join(pack: Option[LoadedPack]) extends Command

  /** The pack may run until then, unless the lease is renewed again. */
  final case class RenewLease(until: MonotonicTime) extends Command

  private[pack] final case class Resized(possible: Boolean) extends Command
  private[pack] final case class PackageReady(outcome: Either[Failure, Path]) extends Command
  private[pack] final case class Adopted(container: Option[Container]) extends Command
  private[pack] final case class Throttled(workers: Int, done: Boolean) extends Command
  private[pack] case object ReturnSlots extends Command
  private[pack] final case class Created(outcome: Either[Failure, Container]) extends Command
  private[pack] final case class Initialised(containerId: String, outcome: Either[Refusal, Unit])
      extends Command
  private[pack] final case class Opened(containerId: String, outcome: Either[Refusal, EventStream])
      extends Command
  private[pack] final case class Events(events: Vector[PackEvent]) extends Command
  private[pack] final case class StreamEnded(problem: Option[Throwable]) extends Command
  private[pack] final case class Started(flareId: FlareId, outcome: Either[Failure, Unit]) extends Command
  private[pack] final case class AbortSent(outcome: Either[Failure, Unit])
      extends Command // overdue if it failed
  private[pack] final case class Removed(outcome: StopOutcome) extends Command

  /** A part of the time for a start has passed, and this many are left. */
  private[pack] final case class InitOverdue(partsLeft: Int) extends Command
  private[pack] case object AbortOverdue extends Command
  private[pack] case object FlareOverdue extends Command

  /** The same for the time in which the rest of a pack's end can arrive. */
  private[pack] final case class Settled(partsLeft: Int) extends Command

  /** Waits for [[Begin]]. */
  def apply(services: PackServices, invoker: ActorRef[Finished | Shares]): Behavior[Command] =
    Behaviors.setup: context =>
      Behaviors.withTimers: timers =>
        Behaviors.receiveMessagePartial:
          case Begin(assignment, supply, replyTo, watch, lease) =>
            val at = PackContext(services, invoker, watch, context, timers)
            val pack =
              if assignment.group.exists(_.isInstanceOf[GroupRole.Holder]) then
                GroupPack(assignment, replyTo, lease, at)
              else FlarePack(assignment, replyTo, lease, at)
            pack.begin(supply)
