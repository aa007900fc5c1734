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
  *   - An abort in any state before Running ends in Destroying, or at once where there is no container yet.
  *     Creating cannot be broken off: it waits for the driver's answer, which is bounded.
  *   - In Running an abort is passed to the runtime, whose workers return and whose grace period then kills
  *     the program; `timings.abort` is the bound on the runtime itself.
  *   - In a cluster a pack has a lease, which the runtime keeps: should this process stand still or be cut
  *     off, the pack is dead when the scheduler takes it for dead.
  *   - The flare's deadline plus a slack aborts by itself, for the case that nobody else is left to do it.
  *   - In Running, slots of workers that have ended are given back while others go on: first the container is
  *     held to the CPUs of those that are left, then the controller is told.
  *   - `PackEnded` is reported last, and when the pack was not reusable only after its container is gone: its
  *     slots are free exactly when the machine is.
  *   - A pack of a group rests where another one would open: each flare of the group that comes opens it, and
  *     it rests again when that has ended well. However it ends, both are told: the flare it ran and the
  *     group. ([[PackLifecycle]] brings it there and ends it, [[FlarePack]] runs one flare on it and
  *     [[GroupPack]] those of a group, each as a [[FlareRun]].)
  *   - Calls of an action may share a container: each has an actor of its own, and opens the container that
  *     another one had made, or waits for it (Joining). The invoker keeps it once the last of them has ended,
  *     or removes it: one that has not ended well leaves it to the others, whom its end is not to harm, and
  *     is reported at once. So is one that it takes in no more, which has not begun.
  *   - A container that will not go is logged as an error and reported like any other end. Its package stays
  *     held, since it may still be mounted.
  */
object PackActor:
  sealed trait Command

  /** The first message. Not part of the behavior, which would hold on to the inputs for as long as the pack.
    */
  final case class Begin(
      assignment: PackAssignment,
      supply: Supply,
      replyTo: ActorRef[PackReport],
      watch: PackWatch,
      lease: Option[MonotonicTime] = None
  ) extends Command

  final case class Start(flareId: FlareId, endpoints: Vector[Option[String]]) extends Command

  /** To a pack of a group: run this flare's part. */
  final case class Run(assignment: PackAssignment, replyTo: ActorRef[PackReport]) extends Command

  /** The controller has stored the outputs it was told of last. */
  final case class OutputStored(flareId: FlareId) extends Command

  /** Ends the pack if it is of this flare, or of this group: its workers' operations return `failure`. With
    * `atOnce` nobody is given time.
    */
  final case class Abort(flareId: FlareId, failure: Failure, atOnce: Boolean) extends Command

  /** A container has come to its end. A pack watches the container that it was the first to have; warm ones
    * are watched by the invoker, which passes this on: a watch of each flare's own would stay for as long as
    * the container.
    */
  private[invoker] final case class Exited(containerId: String, exit: ContainerExit) extends Command

  /** Sent to the invoker just before the final report: the pack to keep warm, if it may be kept, or the
    * pre-warmed container that was not needed after all. `answered` is the last flare of its group that has
    * been answered, or is about to be. A pack that is `spent` is of no use to others, but may still run
    * calls.
    */
  final case class Finished(
      key: PackKey,
      left: Option[LoadedPack],
      unused: Option[Container] = None,
      answered: Option[FlareId] = None,
      spent: Boolean = false
  )

  /** Told to the invoker of a container that calls share: its program runs, and others may join. */
  final case class Shares(key: PackKey, pack: LoadedPack)

  /** To one that waits for that container: it is there, or there is none and it makes one itself. */
  final case class Join(pack: Option[LoadedPack]) extends Command

  /** The pack may run until then, unless it is told again. */
  final case class RenewLease(until: MonotonicTime) extends Command

  private[pack] final case class Resized(possible: Boolean) extends Command
  private[pack] final case class PackageReady(outcome: Either[Failure, Path]) extends Command
  private[pack] final case class Adopted(container: Option[Container]) extends Command
  private[pack] final case class Throttled(workers: Int, done: Boolean) extends Command
  private[pack] case object SlotsDue extends Command
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

  /** A part of the time that a start may take is over, and so many are `left`. */
  private[pack] final case class InitOverdue(left: Int) extends Command
  private[pack] case object AbortOverdue extends Command
  private[pack] case object FlareOverdue extends Command

  /** As above, of the time in which the rest of a pack's end may be told. */
  private[pack] final case class Settled(left: Int) extends Command

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
