package burst.simulator

import burst.controller.placement.{DefaultGranularity, PackCosts, Packing}
import burst.controller.scheduler.*
import burst.node.MonotonicTime
import burst.protocol.{FlareId, InvokerId}
import scala.collection.mutable
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}
import scala.util.Random

/** What became of one flare, by a clock that begins with the simulation; `packs`, `machines` and
  * `remotePairs` are those of its plan.
  */
final case class Outcome(
    size: Int,
    arrived: MonotonicTime,
    placed: MonotonicTime,
    running: MonotonicTime,
    ended: MonotonicTime,
    packs: Int,
    machines: Int,
    remotePairs: Long
)

/** The state of the cluster over time, weighted by duration: the part of the slots in use, and the part that
  * is free on partly used machines.
  */
final case class Usage(used: Double, broken: Double)

final case class Played(outcomes: Vector[Outcome], usage: Usage, rounds: Int, slowestRound: FiniteDuration)

/** Plays a workload on the scheduler's own queue, books, policies and rounds, with a clock that jumps from
  * event to event. Only the machines are simulated: what `GangScheduler` does with messages is done here with
  * events, in the same order.
  */
final class Simulation(machines: Int, slots: Int, times: StartTimes, backfill: Boolean, seed: Long):
  private enum Event:
    case Arrived(arrival: Arrival)
    case Done(waiting: Waiting)

  private val random = Random(seed)
  private val invokers = Machines(times, random)
  private val round = SchedulingRound(
    Packing.policies(DefaultGranularity.Cheapest(PackCosts.Measured)),
    overtaking = 10.seconds,
    // the first flare that does not fit ends the round: first come, first served
    depth = if backfill then 200 else 1
  )
  private val events = mutable.PriorityQueue.empty[(MonotonicTime, Int, Event)](using
    Ordering.by[(MonotonicTime, Int, Event), (MonotonicTime, Int)]((at, serial, _) => (at, serial)).reverse
  )
  private var serial = 0
  private var cluster = (0 until machines).foldLeft(ClusterState.empty)((state, i) =>
    state.up(InvokerId(f"i$i%05d"), slots)
  )
  private var queue = FlareQueue.empty
  private var walltimes = WalltimePredictor.empty(grace = 10.seconds)
  private val work = mutable.Map.empty[FlareId, FiniteDuration]
  private val outcomes = Vector.newBuilder[Outcome]
  private var (clock, usedTime, brokenTime) = (MonotonicTime.Zero, 0.0, 0.0)
  private var (rounds, slowest) = (0, Duration.Zero)

  def play(arrivals: Vector[Arrival]): Played =
    arrivals.foreach(arrival => schedule(arrival.at, Event.Arrived(arrival)))
    while events.nonEmpty do
      val (at, _, event) = events.dequeue()
      pass(at)
      event match
        case Event.Arrived(arrival) =>
          val flare = Waiting(FlareId.random(), 1, arrival.request, at)
          work(flare.id) = arrival.work
          queue = queue.enqueue(flare)
        case Event.Done(flare) =>
          val walltime = cluster.holdings(flare.attemptId).walltime
          cluster = cluster.releaseAll(flare.attemptId)
          walltimes = walltimes.learn(walltime, at)
      if queue.length > 0 then serve(at)
    val span = (clock - MonotonicTime.Zero).toMicros.max(1) * (machines.toDouble * slots)
    Played(outcomes.result(), Usage(usedTime / span, brokenTime / span), rounds, slowest)

  private def serve(now: MonotonicTime): Unit =
    val begin = MonotonicTime.now()
    val served = round.run(cluster, queue, now, _ => Int.MaxValue, walltimes)
    slowest = slowest.max(MonotonicTime.now() - begin)
    rounds += 1
    cluster = served.cluster
    queue = served.queue
    served.placed.foreach(start(_, now))

  /** All packs wait for the last one; then all workers run for the flare's work time. */
  private def start(placement: Placement, now: MonotonicTime): Unit =
    val flare = placement.flare
    val ready = invokers.start(placement.plan, now).max
    val end = ready + work.remove(flare.id).getOrElse(Duration.Zero)
    schedule(end, Event.Done(flare))
    outcomes += Outcome(
      flare.size,
      arrived = flare.since,
      placed = now,
      running = ready,
      ended = end,
      packs = placement.plan.packs.length,
      machines = placement.plan.demand.size,
      remotePairs = placement.plan.remotePairs
    )

  private def schedule(at: MonotonicTime, event: Event): Unit =
    serial += 1
    events += ((at, serial, event))

  private def pass(until: MonotonicTime): Unit =
    val length = (until - clock).toMicros.toDouble
    if length > 0 then
      val view = cluster.view
      usedTime += length * (view.totalSlots - view.freeSlots)
      brokenTime += length * view.machines.iterator.filter(m => m.free < m.slots).map(_.free.toLong).sum
    clock = until
