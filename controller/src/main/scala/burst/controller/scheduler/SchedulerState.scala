package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.controller.placement.{Location, Packing, Plan}
import burst.node.MonotonicTime
import burst.protocol.{
  DefinitionRef,
  FlareId,
  InvokerId,
  InvokerStatus,
  PackId,
  SharedContainer,
  WantedPacks,
  WarmPack
}
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, TimerScheduler}
import scala.concurrent.duration.Duration

/** The state of the scheduler: which flares wait, which hold which slots, and how much each machine is
  * trusted. Any change that may let a flare start schedules a round: one message to the scheduler, so that a
  * thousand packs that end together cause one round. Belongs to the scheduler's actor.
  */
private[scheduler] final class SchedulerState(
    settings: SchedulerSettings,
    beginsUnstored: Boolean,
    elapsed: () => MonotonicTime,
    context: ActorContext[GangScheduler.Command],
    timers: TimerScheduler[GangScheduler.Command]
):
  private val rounds =
    SchedulingRound(
      Packing.policies(settings.defaultGranularity),
      settings.overtaking,
      settings.backfillDepth
    )
  private var cluster = ClusterState.empty
  private var queue = FlareQueue.empty
  private var shared = SharedPacks.empty
  private var quarantine = Quarantine.empty(settings.quarantineFirst, settings.quarantineLongest)
  private var walltimes = WalltimePredictor.empty(settings.abortDeadline)
  private var throttle = StartThrottle.empty(settings.startInterval, areStoredFirst = !beginsUnstored)
  private var delays = DelayScheduling(settings.localityWait)
  private val forecasts = Forecasts(
    settings.forecastLifetime,
    elapsed,
    at => Forecast(cluster, queue, at, walltimes, rounds.couldHold(cluster.view, _))
  )
  private var slotLimits = Map.empty[String, Int]

  /** The packs that were last found to wait for room, and until when that is valid. */
  private var demand = Option.empty[(MonotonicTime, Vector[WantedPacks])]

  /** Machines that the administrator has drained, whether they are known or not. */
  private var drained = Set.empty[InvokerId]
  private var roundDue = false

  def machine(id: InvokerId): Option[Capacity] = cluster.machines.get(id)
  def suspicion(id: InvokerId): Option[Suspicion[MonotonicTime]] = quarantine.suspicion(id)
  def holding(attempt: AttemptId): Option[Holding] = cluster.holdings.get(attempt)
  def holders: Vector[AttemptId] = cluster.holdings.keysIterator.toVector

  // ---- Who waits -----------------------------------------------------------------------------------------

  /** Sets how many slots a namespace may hold. */
  def allow(tenant: String, slots: Int): Unit = slotLimits = slotLimits.updated(tenant, slots)

  def refusal(request: FlareRequest, slotLimit: Int): Option[Refusal] =
    AdmissionControl.refusal(rounds, cluster.view, cluster.most, request, slotLimit)

  def overflow(request: FlareRequest): Option[Refusal] =
    AdmissionControl.overflow(queue, request, settings)

  def enqueue(flare: Waiting): Unit =
    queue = queue.enqueue(flare)
    queue.ticketOf(flare).foreach(ticket => shared = shared.waits(flare, ticket.number))

  def dequeue(id: FlareId, tenant: String): Unit =
    queue = queue.remove(id, tenant)
    shared = shared.waitsNoMore(id)
    delays = delays.over(id)

  def queueEstimate(id: FlareId): Option[QueueEstimate[MonotonicTime]] = forecasts.queueEstimate(id, queue)

  // ---- Who holds what ------------------------------------------------------------------------------------

  /** Runs a round: calls join containers that have room beside others; the rest of the queue gets free slots.
    * A flare that `mayNotWait` does not have to wait for a single machine.
    */
  def round(mayNotWait: Boolean = false): Vector[Placement] =
    Iterator.continually(nextSharer).takeWhile(_.isDefined).flatten.map(joined).toVector ++
      handOut(if mayNotWait then delays.copy(longest = Duration.Zero) else delays)

  private def handOut(waiting: DelayScheduling): Vector[Placement] =
    if queue.length == 0 then Vector.empty
    else
      throttle = throttle.at(elapsed())
      val starts = throttle.room(cluster.slots)
      val outcome =
        rounds.run(
          cluster,
          queue,
          elapsed(),
          slotLimits.getOrElse(_, Int.MaxValue),
          walltimes,
          starts,
          waiting
        )
      cluster = outcome.cluster
      queue = outcome.queue
      delays = outcome.delays.copy(longest = delays.longest)
      outcome.placed.foreach(p => throttle = throttle.placed(p.flare.attemptId, p.flare.tenant, elapsed()))
      if queue.length > 0 && throttle.starting.nonEmpty && !timers.isTimerActive(GangScheduler.Round) then
        timers.startSingleTimer(GangScheduler.Round, GangScheduler.Round, settings.startInterval)
      delays.left(elapsed()).foreach: left =>
        timers.startSingleTimer(SchedulerState.DelayOver, GangScheduler.Round, left)
      if quarantine.suspects.nonEmpty then
        outcome.placed.foreach { placement =>
          val machines = placement.plan.demand.keys
          quarantine = quarantine.placed(placement.flare.attemptId, machines, elapsed())
        }
      outcome.placed.map(opened)

  /** A call has its slot: others of its program may join its container. */
  private def opened(placement: Placement): Placement =
    val call = placement.flare
    shared = shared.waitsNoMore(call.id)
    CallProgram.of(call.request).fold(placement): program =>
      val container = SharedContainer(call.id, call.attempt)
      placement.plan.packs.foreach: pack =>
        shared = shared.opened(call.attemptId, container, program, pack.location)
      placement.copy(plan = placement.plan.sharing(container))

  private def nextSharer: Option[(Waiting, SharedContainer, Location)] =
    shared.candidates.flatMap { (program, call) =>
      def takes(id: InvokerId) = acceptsSharers(id) && !call.avoid.contains(id)
      val found = if isKeptFrom(program) then None else shared.findContainer(program)(takes)
      found.map((container, location) => (call, container, location))
    }.nextOption()

  private def acceptsSharers(id: InvokerId): Boolean =
    machine(id).exists(m => m.shares && m.offers && !m.overloaded && m.trust != Trust.Avoided)

  /** A container that calls keep joining would hold its slot for ever. So that no flare waits for that, none
    * joins while a flare that could have the slot has waited longer than others may overtake it. A flare that
    * can join a container itself needs no slot, and two such would keep each other out.
    */
  private def isKeptFrom(program: CallProgram): Boolean =
    val overtaken = elapsed() - settings.overtaking
    queue.heads.exists: first =>
      val own = CallProgram.of(first.request)
      first.since <= overtaken && !own.contains(program) && first.size <= cluster.view.totalSlots &&
      couldHave(first, program) && !own.exists(shared.findContainer(_)(acceptsSharers).isDefined)

  /** Whether the limit of its namespace lets a flare have a slot of that program; that slot is freed first if
    * both belong to one namespace.
    */
  private def couldHave(first: Waiting, program: CallProgram): Boolean =
    val limit = slotLimits.getOrElse(first.tenant, Int.MaxValue)
    if first.tenant == program.definition.namespace then first.size <= limit
    else cluster.used(first.tenant) + first.size <= limit

  /** A call's container accepts no more calls. */
  def spent(attempt: AttemptId): Unit = shared = shared.spent(attempt)

  private def joined(call: Waiting, container: SharedContainer, location: Location): Placement =
    val plan = Plan.ofSharer(location, container)
    val placement = Placement(call, plan, queue.ticketOf(call))
    cluster = cluster.join(call.attemptId, call.tenant, plan, walltimes.walltime(call.request, elapsed()))
    shared = shared.joined(call.attemptId, container).waitsNoMore(call.id)
    queue = queue.remove(call.id, call.tenant)
    placement

  /** A call leaves the container that it shares, if any, and one that stays there takes over the slot. */
  private def leaveShared(attempt: AttemptId): Unit =
    shared.successor(attempt).foreach(successor => cluster = cluster.pass(attempt, successor))
    shared = shared.left(attempt)

  def roundSoon(): Unit =
    if !roundDue && queue.length > 0 then
      roundDue = true
      context.self ! GangScheduler.Round

  /** The attempt runs, or never will. */
  private def begun(attempt: AttemptId): Unit =
    val after = throttle.over(attempt)
    if after ne throttle then
      throttle = after
      roundSoon()

  /** Runs the round that was due. */
  def dueRound(): Vector[Placement] =
    roundDue = false
    round()

  /** Records the slots that another scheduler gave the flare; of calls that share a container only the first
    * holds them.
    */
  def adopt(flare: Flare): Unit =
    val attempt = AttemptId(flare.id, flare.attempt)
    val request = flare.request.withoutInputs
    val plan = flare.plan
    val walltime = walltimes.walltime(request, elapsed())
    val containers = plan.packs.flatMap(_.shared)
    if containers.exists(shared.contains) then
      cluster = cluster.join(attempt, flare.namespace, plan, walltime)
      containers.foreach(container => shared = shared.joined(attempt, container))
    else
      cluster = cluster.adopt(attempt, flare.namespace, plan, walltime, request.memory)
      for program <- CallProgram.of(request); pack <- plan.packs; container <- pack.shared do
        shared = shared.opened(attempt, container, program, pack.location)
    // It is not known whether a call has left it spent; one that joins it in that case is placed again.
    if flare.state == FlareState.Running then shared = shared.up(attempt)

  /** The attempts that hold slots of a machine. */
  def holdersOn(id: InvokerId): Set[AttemptId] = cluster.packsOn(id).map(_._1).toSet

  /** Packs now need only these slots. */
  def shrink(attempt: AttemptId, left: Vector[(PackId, Int)]): Unit =
    val held = holding(attempt)
    if left.forall(_._2 == 0) then leaveShared(attempt)
    cluster = cluster.shrink(attempt, left)
    if !cluster.holds(attempt) then
      begun(attempt)
      held.foreach(h => walltimes = walltimes.learn(h.walltime, elapsed()))
      trust(quarantine.undecided(attempt))
    roundSoon()

  /** Releases all slots of an attempt that nobody is left to release. */
  def release(attempt: AttemptId): Unit =
    leaveShared(attempt)
    cluster = cluster.releaseAll(attempt)
    begun(attempt)
    trust(quarantine.undecided(attempt))

  /** The packs that wait for room that a cluster does not have, for an invoker that can show them: one of
    * those that follow a cluster. Nothing for an invoker that cannot. Computed again only after some time,
    * however often it is requested.
    */
  def wanted(id: InvokerId): Option[Vector[WantedPacks]] =
    machine(id).filter(_.room.isDefined).map: _ =>
      val shows = cluster.machines.iterator.find((_, it) => it.offers && it.room.isDefined).map(_._1)
      if shows.contains(id) then demandNow else Vector.empty

  /** In lifetimes of a forecast: adding nodes is not urgent. */
  private val DemandLifetimes = 4

  private def demandNow: Vector[WantedPacks] =
    val now = elapsed()
    demand.collect { case (until, found) if now < until => found }.getOrElse:
      val unit = settings.defaultGranularity.unit(cluster.view)
      val found = Demand.of(cluster, queue, slotLimits.getOrElse(_, Int.MaxValue), unit)
      demand = Some((now + settings.forecastLifetime * DemandLifetimes, found))
      found

  // ---- Machines ------------------------------------------------------------------------------------------

  /** A machine is up, with a new process, which is trusted whatever the last one did. */
  def up(status: InvokerStatus): Unit =
    trust(quarantine.forget(status.id))
    cluster = cluster.up(status.id, status.slots, status.room)
    note(status)
    roundSoon()

  /** Takes the status of a machine that is up. */
  def report(status: InvokerStatus): Unit =
    machine(status.id).foreach { known =>
      val sized = known.slots != status.slots || known.room != status.room
      if sized then cluster = cluster.up(status.id, status.slots, status.room)
      note(status)
      val relieved = known.overloaded && !overloaded(status)
      if relieved || sized || known.drained != isDrained(status) then roundSoon()
    }

  private def overloaded(status: InvokerStatus): Boolean = status.cpuLoad > settings.maxCpuLoad

  private def note(status: InvokerStatus): Unit =
    val shares = status.shares.contains(true)
    cluster = cluster
      .report(status.id, overloaded(status), status.warm, shares)
      .drain(status.id, isDrained(status))

  /** Whether the machine is drained by the administrator, or because it is about to stop. */
  private def isDrained(status: InvokerStatus): Boolean = drained(status.id) || status.isLeaving

  /** Drains a machine on behalf of the administrator, or ends that; `leaving` is whether it is about to stop
    * by its own last report.
    */
  def drain(id: InvokerId, on: Boolean, leaving: Boolean): Unit =
    drained = if on then drained + id else drained - id
    cluster = cluster.drain(id, on || leaving)
    roundSoon()

  def isDrained(id: InvokerId): Boolean = drained(id)

  /** The machine offers nothing any more; returns the packs that were on it. */
  def down(id: InvokerId): Vector[(AttemptId, PackId)] =
    val lost = cluster.packsOn(id)
    cluster = cluster.down(id)
    shared = shared.lost(id)
    // flares that waited behind one that is now larger than the cluster may pass it
    roundSoon()
    lost

  /** Forgets a machine on which nothing is held; returns whether it is now unknown. */
  def forget(id: InvokerId): Boolean =
    cluster = cluster.forget(id)
    val gone = machine(id).isEmpty
    if gone then quarantine = quarantine.forget(id)
    gone

  /** Whether the machines of a plan have reported idle packs with the flare's program; only for a flare whose
    * end a caller waits for, as such flares have few packs.
    */
  def isWarm(placement: Placement): Boolean =
    val request = placement.flare.request
    request.isWaitedFor.contains(true) && placement.plan.packs.forall: pack =>
      machine(pack.invoker).exists(_.warm(WarmPack(request.definition, request.memory, pack.node)))

  // ---- Trust ---------------------------------------------------------------------------------------------

  def heard(attempt: AttemptId, definition: DefinitionRef, outcomes: Vector[StartOutcome]): Unit =
    begun(attempt)
    trust(quarantine.heard(attempt, definition, outcomes, elapsed()))
    val isUp = !outcomes.exists(_.isInstanceOf[StartOutcome.NotUp])
    val after = if isUp then shared.up(attempt) else shared
    if after ne shared then
      shared = after
      roundSoon()

  /** A machine has been avoided for long enough. */
  def trialDue(): Unit = trust(quarantine)

  /** Applies the changed trust in machines, and schedules the next change of each. */
  private def trust(changed: Quarantine): Unit =
    val touched = quarantine.suspects ++ changed.suspects
    quarantine = changed
    touched.foreach { id =>
      val before = machine(id).map(_.trust)
      val now = quarantine.trust(id, elapsed())
      cluster = cluster.trust(id, now)
      if before.exists(_ != now) then
        if now != Trust.Avoided then roundSoon()
        quarantine.suspicion(id) match
          case Some(suspicion) if now == Trust.Avoided =>
            context.log.warn(s"invoker ${id.value} is avoided, as starts fail on it: ${suspicion.reason}")
          case None => context.log.info(s"invoker ${id.value} is trusted again")
          case _ => ()
      quarantine.suspicion(id).map(_.until - elapsed()).filter(_ => now == Trust.Avoided).foreach { left =>
        val due = GangScheduler.TrialDue(id)
        // a machine that is avoided beyond its time waits for its trial to end
        if left > Duration.Zero then timers.startSingleTimer(due, due, left)
      }
    }

private object SchedulerState:
  /** The key of the timer after which flares that wait for one machine are examined again. */
  private case object DelayOver
