package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, WorkerResult}
import burst.node.MonotonicTime
import burst.node.logs.LogIds.of
import burst.protocol.{
  BackendConfig,
  DefinitionRef,
  Failure,
  FailureKind,
  FlareId,
  Holds,
  InvokerId,
  InvokerReport,
  InvokerRequest,
  InvokerStatus,
  NothingMore,
  Operation,
  PackId,
  Timestamp
}
import org.apache.pekko.Done
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors, TimerScheduler}
import org.apache.pekko.actor.typed.{ActorRef, Behavior, SupervisorStrategy}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.Try

/** Owns the [[SchedulerState]] of the cluster, and starts flares: all workers of a flare or none.
  *
  * ==States==
  *   - ''recovering'': it reads from the store what the last controller left ([[Recovering]]).
  *   - ''serving''.
  *
  * ==Events==
  *   - a flare is submitted: it is refused, or queued and a [[SchedulingRound]] runs immediately, so that a
  *     flare that fits starts without a further message;
  *   - slots become free (packs ended), an invoker arrives, a flare leaves the queue: a round is due. The
  *     scheduler sends itself one message for it, so that a thousand packs ending together cause one round
  *     and not a thousand;
  *   - an invoker is lost: it offers nothing from now on, and the flares with packs on it are notified. Their
  *     slots there become free when they release them. If the invoker turns out to be alive (it was cut off),
  *     the packs it was thought to have lost are aborted before it gets anything new;
  *   - packs started, or failed to: machines on which starts fail are avoided ([[Quarantine]]);
  *   - an invoker reports its packs of flares that another scheduler placed: these continue, with their
  *     slots, or are notified of what is missing. An invoker that does not report in time is lost;
  *   - a flare has ended and nothing of it is left: its actor is retired;
  *   - a group is a flare whose slots others use: its members do not queue here but wait for their turn
  *     ([[GroupQueues]]), and are placed where the group is. When a group's packs are ended, so is the flare
  *     that runs on them.
  *
  * All reservations are made here, one at a time, which is what makes them atomic; everything else about a
  * flare is done by its own [[FlareActor]], in parallel with the others.
  */
object GangScheduler:
  sealed trait Command

  /** Requests to the scheduler, also from other controllers. */
  sealed trait Request extends Command

  /** Its answers. */
  sealed trait Answer

  /** The submitter may choose the `id`, and submit the flare again under it if no answer arrives. The answer
    * to a submitter that waits is the flare's end, or after a while the flare in its present state.
    */
  final case class Submit(
      request: FlareRequest,
      slotLimit: Int,
      replyTo: ActorRef[Submitted],
      id: Option[FlareId] = None
  ) extends Request:
    private[scheduler] def isAgain(former: Submit): Boolean = id.isDefined && id == former.id

  final case class Cancel(id: FlareId, by: CancelledBy, replyTo: ActorRef[CancelOutcome]) extends Request

  /** Ends everything of a namespace that was revoked, and accepts nothing more from it. */
  final case class EndNamespace(namespace: String, replyTo: ActorRef[NamespaceEnded.type]) extends Request

  /** A namespace that had been revoked has a key again. */
  final case class ReopenNamespace(namespace: String) extends Request
  case object NamespaceEnded extends Answer
  final case class Await(id: FlareId, replyTo: ActorRef[Awaited]) extends Request

  /** Asks for a flare's queue estimate; nothing if it is not in the queue. */
  final case class Locate(id: FlareId, replyTo: ActorRef[Located]) extends Request

  /** Drains a machine, or ends that; the answer is the machine, if it is known. */
  final case class Drain(id: InvokerId, on: Boolean, replyTo: ActorRef[Drained]) extends Request
  final case class Drained(invoker: Option[InvokerView]) extends Answer
  final case class ListInvokers(replyTo: ActorRef[InvokerList]) extends Request
  final case class Located(standing: Option[QueueEstimate[Timestamp]]) extends Answer
  final case class InvokerList(invokers: Vector[InvokerView]) extends Answer

  enum Submitted extends Answer:
    /** If the flare has already ended, with the results of all its workers, provided that these are few and
      * short.
      */
    case Accepted(flare: Flare, results: Vector[WorkerResult] = Vector.empty)
    case Refused(refusal: Refusal)
    case NotStored(operation: String, cause: Throwable)

  enum Awaited extends Answer:
    /** With the results of all its workers, if these are few and short. */
    case Ended(flare: Flare, results: Vector[WorkerResult] = Vector.empty)

    /** No such flare is active; the store knows whether it ever existed. */
    case NotActive

  /** An invoker is up, or up again under another reference. */
  final case class InvokerUp(status: InvokerStatus, invoker: ActorRef[InvokerRequest])
      extends Command

  /** The status of an invoker that is up. Carries its reference, so that a scheduler that was restarted
    * learns of it.
    */
  final case class InvokerReported(status: InvokerStatus, invoker: ActorRef[InvokerRequest])
      extends Command

  /** The packs that an invoker that is up has kept from its session with another scheduler. */
  final case class InvokerHeld(id: InvokerId, invoker: ActorRef[InvokerRequest], holds: Holds)
      extends Command
  final case class InvokerLost(id: InvokerId, loss: InvokerLoss) extends Command

  /** An invoker has been away for so long that it need not be listed any more. */
  final case class InvokerForgotten(id: InvokerId) extends Command

  /** Ends every pack, unless packs outlive the scheduler, and stops; the next controller finds the flares
    * that had not ended.
    */
  final case class Stop(replyTo: ActorRef[Done]) extends Command

  /** Packs now need only these slots; none if they have ended. */
  private[scheduler] final case class Release(id: FlareId, attempt: Int, left: Vector[(PackId, Int)])
      extends Command

  /** A call has not ended well in a container that it shared. */
  private[scheduler] final case class ContainerSpent(id: FlareId, attempt: Int) extends Command
  private[scheduler] final case class Requeue(
      id: FlareId,
      attempt: Int,
      request: FlareRequest,
      avoid: Option[InvokerId],
      noRoom: Option[Failure],
      ticket: Option[QueueTicket]
  ) extends Command

  /** The outcomes of packs' starts. */
  private[scheduler] final case class Starts(
      id: FlareId,
      attempt: Int,
      definition: DefinitionRef,
      outcomes: Vector[StartOutcome]
  ) extends Command
  private[scheduler] final case class LeaveQueue(id: FlareId) extends Command
  private[scheduler] final case class Ended(id: FlareId) extends Command

  /** The flare's insert failed, but may have arrived. */
  private[scheduler] final case class InDoubt(id: FlareId, request: FlareRequest, isCancelled: Boolean)
      extends Command
  private[scheduler] case object LookForInDoubt extends Command

  /** Those flares in doubt that are in the store, of the ones that were looked for at a time. */
  private[scheduler] final case class FoundInDoubt(
      asked: Vector[FlareId],
      there: Try[Vector[Flare]],
      at: MonotonicTime
  ) extends Command

  /** The packs of a group wait for flares. */
  private[scheduler] final case class GroupOpened(id: FlareId, attempt: Int) extends Command

  /** Has an invoker, preferably one of the `preferred`, clean a flare's backend. */
  private[scheduler] final case class CleanUp(
      id: FlareId,
      backend: BackendConfig,
      preferred: Vector[InvokerId],
      replyTo: ActorRef[InvokerReport]
  ) extends Command

  private[scheduler] case object Round extends Command

  /** Packs of another scheduler that no invoker has reported so far are dead. */
  private[scheduler] case object AdoptionDue extends Command

  /** All working invokers have had time to register with a scheduler that has just started. */
  private[scheduler] case object Settled extends Command

  /** How long that takes: several of their heartbeats. */
  private[scheduler] val SettledWithin: FiniteDuration = 5.seconds

  /** A machine has been avoided for long enough. */
  private[scheduler] final case class TrialDue(id: InvokerId) extends Command

  /** The actor of a flare has died. */
  private[scheduler] final case class Gone(id: FlareId) extends Command
  private[scheduler] final case class Loaded(recovered: Recovered) extends Command
  private[scheduler] final case class NotLoaded(cause: Throwable) extends Command
  private[scheduler] case object LoadAgain extends Command

  /** A scheduler. If a defect ends it, it restarts as after a restart of the controller: flares that were
    * active are reported failed, queued ones are queued again, and invokers become known again by their
    * heartbeats. If invokers have sessions, these begin again and the scheduler adopts what runs: then its
    * parent restarts it.
    */
  def apply(environment: FlareEnvironment, limits: SlotLimits): Behavior[Command] =
    val begin = Behaviors.setup[Command] { context =>
      context.setLoggerName(classOf[GangScheduler])
      Behaviors.withTimers { timers =>
        Recovering(environment, limits, context, timers) { recovered =>
          val scheduler = new GangScheduler(environment, context, timers)
          scheduler.takeUp(recovered)
          scheduler.serving
        }
      }
    }
    if environment.adoption.isDefined then begin
    else Behaviors.supervise(begin).onFailure[Exception](SupervisorStrategy.restart)

enum CancelOutcome extends GangScheduler.Answer:
  case Accepted, AlreadyEnded, NotFound

private final class GangScheduler(
    environment: FlareEnvironment,
    context: ActorContext[GangScheduler.Command],
    timers: TimerScheduler[GangScheduler.Command]
):
  import GangScheduler.*
  import environment.clock.elapsed
  import environment.{clock, settings}

  private val invokers = InvokerDirectory(context.log, context.system.ignoreRef)
  private val state = SchedulerState(settings, environment.beginsUnstored, () => elapsed(), context, timers)
  private val flares = FlareActors(environment, context)
  private val groups = GroupTurns(flares, state.holding, invokers)
  private val inDoubt = InDoubtInserts(environment, context, timers)
  private val adoption = Adoption(state, flares, groups, invokers)
  private val submissions =
    Submissions(environment, state, flares, groups, () => timers.isTimerActive(Settled), placed, place)

  /** Queues again what was queued, continues what may still run, and cleans up after the rest. */
  def takeUp(recovered: Recovered): Unit =
    recovered.limits.foreach(state.allow)
    recovered.drained.foreach(state.drain(_, on = true, leaving = false))
    recovered.queued.foreach { flare =>
      submissions.queue(flare)
      flares.begin(flare, FlareActor.Arrival.Recovered)
    }
    recovered.adopted.foreach(adoption.adopt)
    recovered.turns.foreach { flare =>
      flares.begin(flare, FlareActor.Arrival.Recovered)
      flare.request.memberOf.foreach(joinAgain(_, flare.id))
    }
    for limit <- environment.adoption if adoption.isAwaiting do
      timers.startSingleTimer(AdoptionDue, AdoptionDue, limit)
    if environment.adoption.isDefined then timers.startSingleTimer(Settled, Settled, SettledWithin)
    recovered.revoked.foreach(endAllOf)
    recovered.orphans.foreach(invokers.abortOnReturn)
    recovered.left.foreach((id, backend) =>
      invokers.clean(CleanUp(id, backend, Vector.empty, context.system.ignoreRef))
    )

  /** The flare waits for its turn again, and for its group to be open, which adopted groups soon report. */
  private def joinAgain(group: FlareId, flare: FlareId): Unit =
    groups.join(group, flare).foreach(flares.tell(flare, _))

  def serving: Behavior[Command] = Behaviors.receiveMessage {
    case Stop(replyTo) =>
      val failure =
        Failure(
          FailureKind.ControllerRestarted,
          "the controller is stopping",
          operation = Some(Operation.Work)
        )
      // If invokers outlive the scheduler, another one continues what runs there.
      if environment.adoption.isEmpty then state.holders.foreach(abort(_, failure))
      replyTo ! Done
      Behaviors.stopped
    case command =>
      on(command)
      Behaviors.same
  }

  private def on(command: Command): Unit = command match
    case submit: Submit => submissions.add(submit)
    case Cancel(id, by, replyTo) =>
      groups.current(id).foreach(flares.tell(_, FlareActor.Cancel(by, context.system.ignoreRef)))
      val wasInDoubt = inDoubt.cancel(id)
      // A flare that was not stored ends a little after that has been reported.
      val ended = if wasInDoubt then CancelOutcome.Accepted else CancelOutcome.AlreadyEnded
      if flares.tell(id, FlareActor.Cancel(by, replyTo, ended)) then groups.close(id)
      else
        val wasEarly = submissions.cancel(id)
        replyTo ! (if wasInDoubt || wasEarly then CancelOutcome.Accepted else CancelOutcome.NotFound)
    case EndNamespace(namespace, replyTo) =>
      endAllOf(namespace)
      replyTo ! NamespaceEnded
    case ReopenNamespace(namespace) => submissions.reopen(namespace)
    case Await(id, replyTo) =>
      if !flares.tell(id, FlareActor.Await(replyTo)) then replyTo ! Awaited.NotActive
    case Locate(id, replyTo) =>
      replyTo ! Located(groups.queueEstimate(id).orElse(state.queueEstimate(id).map(s =>
        s.copy(start = s.start.map(clock.dayTime))
      )))
    case ListInvokers(replyTo) =>
      replyTo ! InvokerList(invokers.statuses.map(view))
    case Drain(id, on, replyTo) =>
      state.drain(id, on, invokers.status(id).exists(_.isLeaving))
      replyTo ! Drained(invokers.status(id).map(view))
    case InvokerUp(status, invoker) => onUp(status, invoker)
    case InvokerReported(status, invoker) => onReported(status, invoker)
    case InvokerHeld(id, invoker, holds) => adoption.held(id, invoker, holds)
    case AdoptionDue =>
      adoption.missing.foreach(onLost(_, InvokerLoss.NotAdopted))
    case Settled => submissions.addEarly()
    case InvokerLost(id, loss) => onLost(id, loss)
    case InvokerForgotten(id) => if state.forget(id) then invokers.forget(id)
    case ContainerSpent(id, attempt) => state.spent(AttemptId(id, attempt))
    case Release(id, attempt, left) => state.shrink(AttemptId(id, attempt), left)
    case Requeue(id, attempt, request, _, _, _) if request.memberOf.isDefined => groups.again(id, attempt)
    case Requeue(id, attempt, request, avoid, noRoom, ticket) =>
      val since = ticket.fold(elapsed())(_.since)
      state.enqueue(Waiting(id, attempt, request, since, avoid, noRoom, ticket.map(_.number)))
      state.roundSoon()
    case Starts(id, attempt, definition, outcomes) =>
      state.heard(AttemptId(id, attempt), definition, outcomes)
    case TrialDue(_) => state.trialDue()
    case LeaveQueue(id) =>
      dequeue(id)
      groups.leave(id)
      state.roundSoon()
    case GroupOpened(id, attempt) => groups.opened(id, attempt)
    case clean: CleanUp => invokers.clean(clean)
    case Ended(id) =>
      flares.retire(id)
      adoption.ended(id)
      groups.leave(id)
      groups.end(id)
    case InDoubt(id, request, isCancelled) =>
      inDoubt.add(id, request, isCancelled || submissions.isRevoked(request.definition.namespace))
    case LookForInDoubt => inDoubt.query()
    case FoundInDoubt(asked, there, at) =>
      inDoubt.found(asked, there, at)(flares.isThere).foreach(takeUpInDoubt)
      state.roundSoon()
    case Gone(id) => onGone(id)
    case Round => state.dueRound().foreach(place)
    case _: (Loaded | NotLoaded | Stop) | LoadAgain => ()

  private def takeUpInDoubt(flare: Flare, runs: Boolean): Unit =
    val outcome = if runs then "queued" else "cancelled"
    context.log.atWarn().of(flare.id).log("it is stored, though its insert failed: it is {}", outcome)
    val again = FlareLifecycle.reset(flare, flare.attempt)
    val group = again.request.memberOf
    if runs && group.forall(id => flares.contains(id) && !groups.isClosing(id)) then
      if group.isEmpty then submissions.queue(again)
      flares.begin(again, FlareActor.Arrival.InDoubt)
      group.foreach(joinAgain(_, again.id))
    else
      flares.begin(again, FlareActor.Arrival.InDoubt)
      val _ = flares.tell(again.id, FlareActor.Cancel(CancelledBy.StoreFailure, context.system.ignoreRef))

  private def view(status: InvokerStatus): InvokerView =
    val capacity = state.machine(status.id)
    val suspicion = state.suspicion(status.id).map(s => s.copy(until = clock.dayTime(s.until)))
    InvokerView(
      status,
      capacity.fold(0)(_.free),
      capacity.exists(_.up),
      suspicion,
      capacity.fold(0)(_.used),
      state.isDrained(status.id) || status.isLeaving
    )

  private def dequeue(id: FlareId): Unit =
    flares.tenantOf(id).foreach(state.dequeue(id, _))

  private def endAllOf(namespace: String): Unit =
    submissions.revoke(namespace)
    inDoubt.cancelAllOf(namespace)
    flares.tellAllOf(namespace, FlareActor.Cancel(CancelledBy.Revocation, context.system.ignoreRef))

  private def place(placement: Placement): Unit =
    if !flares.tell(placement.flare.id, placed(placement)) then
      state.release(placement.flare.attemptId)

  private def placed(placement: Placement): FlareActor.Placed =
    val reached = invokers.refs(placement.plan.demand.keySet)
    FlareActor.Placed(
      placement.flare.attempt,
      placement.plan,
      reached,
      placement.ticket,
      state.isWarm(placement)
    )

  private def onUp(status: InvokerStatus, invoker: ActorRef[InvokerRequest]): Unit =
    invokers.up(status, invoker)
    state.up(status)
    submissions.addEarly()

  private def onReported(status: InvokerStatus, invoker: ActorRef[InvokerRequest]): Unit =
    if state.machine(status.id).exists(_.up) then
      invokers.report(status)
      state.report(status)
      state.wanted(status.id).foreach(invokers.tellWanted(status.id, _))
      if status.isLeaving && state.holdersOn(status.id).isEmpty then
        invoker ! InvokerRequest(NothingMore, context.system.ignoreRef)
    else onUp(status, invoker)

  private def onLost(id: InvokerId, loss: InvokerLoss): Unit =
    adoption.lost(id)
    val lost = state.down(id)
    invokers.down(id, lost.map((attempt, pack) => (attempt.flare, pack)))
    val hit = lost.map(_._1.flare).distinct
    (hit ++ hit.flatMap(groups.current)).foreach(flares.tell(_, FlareActor.InvokerDown(id, loss)))

  private def abort(attempt: AttemptId, failure: Failure): Unit =
    state
      .holding(attempt)
      .foreach(_.plan.packs.foreach { pack =>
        invokers.abort(pack.invoker, attempt.flare, pack.pack, failure)
        if environment.adoption.isDefined then invokers.over(pack.invoker, attempt, pack.pack)
      })

  /** The actor died of a defect: the flare's packs are ended and its slots are freed immediately, as nobody
    * is left to release them.
    */
  private def onGone(id: FlareId): Unit =
    context.log.atError().of(id).log("the actor of a flare died; its packs are ended")
    dequeue(id)
    flares.remove(id)
    val failure =
      Failure(FailureKind.Internal, "the controller lost the flare", operation = Some(Operation.Work))
    groups.holderOf(id).foreach(abort(_, failure))
    groups.leave(id)
    groups.end(id)
    state.holders.filter(_.flare == id).foreach { attempt =>
      abort(attempt, failure)
      state.release(attempt)
    }
    state.roundSoon()
