package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.controller.placement.{Location, PlacementPolicy, Plan}
import burst.node.MonotonicTime
import burst.protocol.{
  DefinitionRef,
  FlareId,
  InvokerId,
  InvokerStatus,
  SharedContainer,
  WantedPacks,
  WarmPack
}
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, TimerScheduler}
import scala.concurrent.duration.Duration

/** The state of the scheduler: who waits, who holds which slots, and how far which machine is trusted.
  * Whatever may let a flare start has a round come soon: one message to the scheduler, so that a thousand
  * packs that end together cause one round. Belongs to the scheduler's actor.
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
      PlacementPolicy.all(settings.defaultGranularity),
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

  /** What was last found to wait for room, and until when that holds. */
  private var demand = Option.empty[(MonotonicTime, Vector[WantedPacks])]

  /** Machines that the administrator has drained, there or not. */
  private var drained = Set.empty[InvokerId]
  private var roundDue = false

  def machine(id: InvokerId): Option[Capacity] = cluster.machines.get(id)
  def suspicion(id: InvokerId): Option[Suspicion[MonotonicTime]] = quarantine.suspicion(id)
  def holding(attempt: AttemptId): Option[Holding] = cluster.holdings.get(attempt)
  def holders: Vector[AttemptId] = cluster.holdings.keysIterator.toVector

  // ---- Who waits -----------------------------------------------------------------------------------------

  /** How many slots a namespace may hold. */
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

  /** Calls go where there is room for them beside others, and what is left of the queue to free slots. A
    * flare that `mayNotWait` is not made to wait for one machine.
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

  /** A call has its slot: others of its program may come to its container. */
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

  /** A container that calls go on joining keeps its slot for ever. So that nobody waits for that, none joins
    * while a flare that could have the slot has waited for as long as others may overtake it: one that may
    * join a container itself needs none, and two such would keep each other out.
    */
  private def isKeptFrom(program: CallProgram): Boolean =
    val overtaken = elapsed() - settings.overtaking
    queue.heads.exists: first =>
      val own = CallProgram.of(first.request)
      first.since <= overtaken && !own.contains(program) && first.size <= cluster.view.totalSlots &&
      couldHave(first, program) && !own.exists(shared.findContainer(_)(acceptsSharers).isDefined)

  /** Whether the limit of its namespace lets a flare have a slot of that program's; that is freed first where
    * both are one namespace's.
    */
  private def couldHave(first: Waiting, program: CallProgram): Boolean =
    val limit = slotLimits.getOrElse(first.tenant, Int.MaxValue)
    if first.tenant == program.definition.namespace then first.size <= limit
    else cluster.used(first.tenant) + first.size <= limit

  /** A call's container takes no more. */
  def spent(attempt: AttemptId): Unit = shared = shared.spent(attempt)

  private def joined(call: Waiting, container: SharedContainer, location: Location): Placement =
    val plan = Plan.ofSharer(location, container)
    val placement = Placement(call, plan, queue.ticketOf(call))
    cluster = cluster.join(call.attemptId, call.tenant, plan, walltimes.walltime(call.request, elapsed()))
    shared = shared.joined(call.attemptId, container).waitsNoMore(call.id)
    queue = queue.remove(call.id, call.tenant)
    placement

  /** It leaves the container that it shares, if it does, and whoever stays there holds the slot. */
  private def leaveShared(attempt: AttemptId): Unit =
    shared.successor(attempt).foreach(successor => cluster = cluster.pass(attempt, successor))
    shared = shared.left(attempt)

  def roundSoon(): Unit =
    if !roundDue && queue.length > 0 then
      roundDue = true
      context.self ! GangScheduler.Round

  /** It runs, or never will. */
  private def begun(attempt: AttemptId): Unit =
    val after = throttle.over(attempt)
    if after ne throttle then
      throttle = after
      roundSoon()

  /** The round that was to come soon. */
  def dueRound(): Vector[Placement] =
    roundDue = false
    round()

  /** A flare holds what another scheduler gave it; of calls that share a container the first of them does. */
  def adopt(flare: Flare): Unit =
    val attempt = AttemptId(flare.id, flare.attempt)
    val request = flare.request.withoutInputs
    val plan = Plan.of(flare)
    val walltime = walltimes.walltime(request, elapsed())
    val containers = plan.packs.flatMap(_.shared)
    if containers.exists(shared.contains) then
      cluster = cluster.join(attempt, flare.namespace, plan, walltime)
      containers.foreach(container => shared = shared.joined(attempt, container))
    else
      cluster = cluster.adopt(attempt, flare.namespace, plan, walltime, request.memory)
      for program <- CallProgram.of(request); pack <- plan.packs; container <- pack.shared do
        shared = shared.opened(attempt, container, program, pack.location)
    // Whether a call has left it spent is not known; one that joins it then is placed again.
    if flare.state == FlareState.Running then shared = shared.up(attempt)

  /** The attempts that hold slots of a machine. */
  def holdersOn(id: InvokerId): Set[AttemptId] = cluster.packsOn(id).map(_._1).toSet

  /** Packs now need only these slots. */
  def shrink(attempt: AttemptId, left: Vector[(Int, Int)]): Unit =
    val held = holding(attempt)
    if left.forall(_._2 == 0) then leaveShared(attempt)
    cluster = cluster.shrink(attempt, left)
    if !cluster.holds(attempt) then
      begun(attempt)
      held.foreach(h => walltimes = walltimes.learn(h.walltime, elapsed()))
      trust(quarantine.undecided(attempt))
    roundSoon()

  /** Gives back all that nobody is left to give back. */
  def release(attempt: AttemptId): Unit =
    leaveShared(attempt)
    cluster = cluster.releaseAll(attempt)
    begun(attempt)
    trust(quarantine.undecided(attempt))

  /** What waits for room that a cluster does not have, for an invoker that can show that: one of those that
    * follow a cluster. Nothing for one that cannot. Computed anew only after some time, however often it is
    * asked for.
    */
  def wanted(id: InvokerId): Option[Vector[WantedPacks]] =
    machine(id).filter(_.room.isDefined).map: _ =>
      val shows = cluster.machines.iterator.find((_, it) => it.offers && it.room.isDefined).map(_._1)
      if shows.contains(id) then demandNow else Vector.empty

  /** In lifetimes of a forecast: what adds nodes is in no hurry. */
  private val DemandLifetimes = 4

  private def demandNow: Vector[WantedPacks] =
    val now = elapsed()
    demand.collect { case (until, found) if now < until => found }.getOrElse:
      val unit = settings.defaultGranularity.unit(cluster.view)
      val found = Demand.of(cluster, queue, slotLimits.getOrElse(_, Int.MaxValue), unit)
      demand = Some((now + settings.forecastLifetime * DemandLifetimes, found))
      found

  // ---- Machines ------------------------------------------------------------------------------------------

  /** A machine is there: a new process, whatever was held against the last one. */
  def up(status: InvokerStatus): Unit =
    trust(quarantine.forget(status.id))
    cluster = cluster.up(status.id, status.slots, status.room)
    note(status)
    roundSoon()

  /** What a machine that is up says of itself. */
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

  /** By the administrator, or because it is about to stop. */
  private def isDrained(status: InvokerStatus): Boolean = drained(status.id) || status.isLeaving

  /** The administrator's word on a machine, whatever it last said itself; `leaving` is that. */
  def drain(id: InvokerId, on: Boolean, leaving: Boolean): Unit =
    drained = if on then drained + id else drained - id
    cluster = cluster.drain(id, on || leaving)
    roundSoon()

  def isDrained(id: InvokerId): Boolean = drained(id)

  /** The machine offers nothing any more; the packs that were on it. */
  def down(id: InvokerId): Vector[(AttemptId, Int)] =
    val lost = cluster.packsOn(id)
    cluster = cluster.down(id)
    shared = shared.lost(id)
    // what waited behind a flare that is now larger than the cluster may pass it
    roundSoon()
    lost

  /** Whether nothing of the machine is known any more. */
  def forget(id: InvokerId): Boolean =
    cluster = cluster.forget(id)
    val gone = machine(id).isEmpty
    if gone then quarantine = quarantine.forget(id)
    gone

  /** Whether the machines of a plan have told of idle packs with the flare's program; for one that is waited
    * for, which has few.
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

  /** From now on machines are trusted so; and again when one's time has come. */
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
        // one that is avoided after its time waits for its trial to end
        if left > Duration.Zero then timers.startSingleTimer(due, due, left)
      }
    }

private object SchedulerState:
  /** Of the timer by which whoever waits for one machine is looked at again. */
  private case object DelayOver
