package burst.controller.scheduler

import burst.controller.flare.FlareRequest
import burst.protocol.{DefinitionRef, FlareId, InvokerId, InvokerStatus, WantedPacks}
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, TimerScheduler}
import scala.concurrent.duration.DurationLong

/** The state of the scheduler: who waits, who holds which slots, and how far which machine is trusted.
  * Whatever may let a flare start has a round come soon: one message to the scheduler, so that a thousand
  * packs that end together cause one round. Belongs to the scheduler's actor.
  */
private[scheduler] final class SchedulerState(
    settings: SchedulerSettings,
    elapsed: () => Long,
    context: ActorContext[GangScheduler.Command],
    timers: TimerScheduler[GangScheduler.Command]
):
  private val rounds =
    SchedulingRound(
      PlacementPolicy.all(settings.defaultGranularity),
      settings.overtaking.toMicros,
      settings.backfillDepth
    )
  private var cluster = ClusterState.empty
  private var queue = FlareQueue.empty
  private var quarantine = Quarantine.empty(settings.quarantineFirst, settings.quarantineLongest)
  private var walltimes = WalltimePredictor.empty(settings.abortDeadline.toMicros)
  private var pace = StartPace.empty(settings.startPace.toMicros)
  private val forecasts = Forecasts(
    settings.forecastLifetime.toMicros,
    elapsed,
    at => Forecast(cluster, queue, at, walltimes, rounds.couldHold(cluster.view, _))
  )
  private var slotLimits = Map.empty[String, Int]

  /** What was last found to wait for room, and until when that holds. */
  private var demand = (Long.MinValue, Vector.empty[WantedPacks])

  /** Machines that the administrator has drained, there or not. */
  private var drained = Set.empty[InvokerId]
  private var roundDue = false

  def machine(id: InvokerId): Option[Capacity] = cluster.machines.get(id)
  def suspicion(id: InvokerId): Option[Suspicion] = quarantine.suspicion(id)
  def holding(attempt: AttemptId): Option[Holding] = cluster.holdings.get(attempt)
  def holders: Vector[AttemptId] = cluster.holdings.keysIterator.toVector

  // ---- Who waits -----------------------------------------------------------------------------------------

  /** How many slots a namespace may hold. */
  def allow(tenant: String, slots: Int): Unit = slotLimits = slotLimits.updated(tenant, slots)

  def refusal(request: FlareRequest, slotLimit: Int): Option[Refusal] =
    AdmissionControl.refusal(rounds, cluster.view, cluster.most, request, slotLimit)

  def overflow(request: FlareRequest): Option[Refusal] =
    AdmissionControl.overflow(queue, request, settings)

  def enqueue(flare: Waiting): Unit = queue = queue.enqueue(flare)
  def dequeue(id: FlareId, tenant: String): Unit = queue = queue.remove(id, tenant)
  def queueEstimate(id: FlareId): Option[QueueEstimate] = forecasts.queueEstimate(id, queue)

  // ---- Who holds what ------------------------------------------------------------------------------------

  def round(): Vector[Placement] =
    if queue.length == 0 then Vector.empty
    else
      pace = pace.at(elapsed())
      val starts = pace.room(cluster.slots)
      val outcome =
        rounds.run(cluster, queue, elapsed(), slotLimits.getOrElse(_, Int.MaxValue), walltimes, starts)
      cluster = outcome.cluster
      queue = outcome.queue
      outcome.placed.foreach(p => pace = pace.placed(p.flare.attemptId, p.flare.tenant, elapsed()))
      if queue.length > 0 && pace.starting.nonEmpty && !timers.isTimerActive(GangScheduler.Round) then
        timers.startSingleTimer(GangScheduler.Round, GangScheduler.Round, settings.startPace)
      if quarantine.suspects.nonEmpty then
        outcome.placed.foreach { placement =>
          val machines = placement.plan.demand.keys
          quarantine = quarantine.placed(placement.flare.attemptId, machines, elapsed())
        }
      outcome.placed

  def roundSoon(): Unit =
    if !roundDue && queue.length > 0 then
      roundDue = true
      context.self ! GangScheduler.Round

  /** It runs, or never will. */
  private def begun(attempt: AttemptId): Unit =
    val after = pace.over(attempt)
    if after ne pace then
      pace = after
      roundSoon()

  /** The round that was to come soon. */
  def dueRound(): Vector[Placement] =
    roundDue = false
    round()

  /** A flare holds what another scheduler gave it. */
  def adopt(attempt: AttemptId, request: FlareRequest, plan: Plan): Unit =
    val walltime = walltimes.walltime(request, elapsed())
    cluster = cluster.adopt(attempt, request.definition.namespace, plan, walltime, request.memory)

  /** Who holds slots of a machine. */
  def holdersOn(id: InvokerId): Set[AttemptId] = cluster.packsOn(id).map(_._1).toSet

  /** Packs need only so many slots any more. */
  def shrink(attempt: AttemptId, left: Vector[(Int, Int)]): Unit =
    val held = holding(attempt)
    cluster = cluster.shrink(attempt, left)
    if !cluster.holds(attempt) then
      begun(attempt)
      held.foreach(h => walltimes = walltimes.learn(h.walltime, elapsed()))
      trust(quarantine.undecided(attempt))
    roundSoon()

  /** Gives back all that nobody is left to give back. */
  def release(attempt: AttemptId): Unit =
    cluster = cluster.releaseAll(attempt)
    begun(attempt)
    trust(quarantine.undecided(attempt))

  /** What waits for room that a cluster does not have, for who can show that: one of those that follow one.
    * Nothing for who does not. Reckoned for some time, however often it is asked for.
    */
  def wanted(id: InvokerId): Option[Vector[WantedPacks]] =
    machine(id).filter(_.room.isDefined).map: _ =>
      val shows = cluster.machines.iterator.find((_, it) => it.offers && it.room.isDefined).map(_._1)
      if shows.contains(id) then demandNow else Vector.empty

  /** Of a forecast: who adds nodes is in no hurry. */
  private val DemandLifetimes = 4

  private def demandNow: Vector[WantedPacks] =
    val now = elapsed()
    if now >= demand._1 then
      val unit = settings.defaultGranularity.unit(cluster.view)
      val found = Demand.of(cluster, queue, slotLimits.getOrElse(_, Int.MaxValue), unit)
      demand = (now + DemandLifetimes * settings.forecastLifetime.toMicros, found)
    demand._2

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
    cluster =
      cluster.report(status.id, overloaded(status), status.warm).drain(status.id, isDrained(status))

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
    // what waited behind a flare that is now larger than the cluster may pass it
    roundSoon()
    lost

  /** Whether nothing of the machine is known any more. */
  def forget(id: InvokerId): Boolean =
    cluster = cluster.forget(id)
    val gone = machine(id).isEmpty
    if gone then quarantine = quarantine.forget(id)
    gone

  // ---- Trust ---------------------------------------------------------------------------------------------

  def heard(attempt: AttemptId, definition: DefinitionRef, outcomes: Vector[StartOutcome]): Unit =
    begun(attempt)
    trust(quarantine.heard(attempt, definition, outcomes, elapsed()))

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
        if left > 0 then timers.startSingleTimer(due, due, left.micros)
      }
    }
