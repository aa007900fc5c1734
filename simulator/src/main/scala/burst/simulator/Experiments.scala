package burst.simulator

import burst.controller.placement.{ClusterView, DefaultGranularity, Machine, PackCosts, Packing}
import burst.controller.scheduler.*
import burst.node.MonotonicTime
import burst.protocol.{FlareId, InvokerId}
import java.util.concurrent.TimeUnit.{MICROSECONDS, MILLISECONDS, SECONDS}
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.util.Random

/** The simulator's reports: each is a table and a plot. */
final class Experiments(results: Results, times: StartTimes, seed: Long):
  private val machines = 1000
  private val slots = 48
  private val sizes = Vector(1, 10, 48, 100, 480, 1000, 4800, 10_000, 24_000, 48_000)

  /** How long it takes to place and reserve a flare on the empty cluster of 1,000 × 48 slots; this is
    * measured, not simulated.
    */
  def placement(): Unit =
    val empty = (0 until machines).foldLeft(ClusterState.empty)((state, i) =>
      state.up(InvokerId(f"i$i%05d"), slots)
    )
    val rows =
      for discipline <- Discipline.All; size <- sizes yield
        val request = Workload.request(size, discipline.packing, discipline.granularity, "placed")
        val micros = Vector
          .fill(40)(placed(empty, Waiting(FlareId.random(), 1, request, MonotonicTime.Zero)))
          .drop(20)
          .map(_.toUnit(MICROSECONDS))
        (discipline.name, size, Statistics.median(micros), micros.max)
    results.table(
      "placement",
      rows.map: (policy, size, median, worst) =>
        Seq(
          "policy" -> policy,
          "workers" -> size,
          "median µs" -> median,
          "worst µs" -> worst,
          "median ns per worker" -> median * 1000 / size
        )
    )
    results.plot(
      "placement",
      "Placing and reserving a flare on 1,000 × 48 slots",
      "workers",
      "µs",
      rows.groupBy(_._1).toVector.sortBy(_._1).map((policy, of) =>
        Line(policy, of.map((_, size, median, _) => (size.toDouble, median)).sorted)
      ),
      log = true
    )

  private def placed(cluster: ClusterState, flare: Waiting): FiniteDuration =
    val policies = Packing.policies(DefaultGranularity.Cheapest(PackCosts.Measured))
    val round = SchedulingRound(policies, overtaking = Duration.Zero, depth = 200)
    val begin = MonotonicTime.now()
    val outcome =
      round.run(
        cluster,
        FlareQueue.empty.enqueue(flare),
        now = MonotonicTime.Zero,
        _ => Int.MaxValue,
        WalltimePredictor.empty(Duration.Zero)
      )
    val took = MonotonicTime.now() - begin
    require(outcome.placed.map(_.plan.size) == Vector(flare.size), "it was not placed whole")
    took

  /** Flares from 1 worker to the whole cluster, under each policy and under FIFO without packing. */
  def policies(flares: Int, load: Double): Unit =
    val played = Discipline.All.map { discipline =>
      val arrivals =
        Workload.bursts(flares, machines * slots, load, machines * slots, discipline, Random(seed))
      val simulation = Simulation(machines, slots, times, discipline.backfill, seed)
      discipline -> simulation.play(arrivals)
    }
    def seconds(outcomes: Vector[Outcome])(time: Outcome => FiniteDuration) =
      outcomes.map(time(_).toUnit(SECONDS))
    results.table(
      "policies",
      played.map { (discipline, run) =>
        val waits = seconds(run.outcomes)(o => o.placed - o.arrived)
        val large = seconds(run.outcomes.filter(_.size > 4800))(o => o.placed - o.arrived)
        val starts = seconds(run.outcomes)(o => o.running - o.placed)
        // of a worker's peers, averaged over all flares that have any
        val local = run.outcomes.filter(_.size > 1).map { o =>
          1 - o.remotePairs / (o.size.toDouble * (o.size - 1) / 2)
        }
        Seq(
          "policy" -> discipline.name,
          "queueing p50 s" -> Statistics.median(waits),
          "queueing p99 s" -> Statistics.quantile(waits, 0.99),
          "queueing p99 s of the large (over 4,800)" -> Statistics.quantile(large, 0.99),
          "placed to running p50 s" -> Statistics.median(starts),
          "placed to running p99 s" -> Statistics.quantile(starts, 0.99),
          "packs per flare" -> run.outcomes.map(_.packs.toDouble).sum / run.outcomes.length,
          "peers in the same pack %" -> 100 * local.sum / local.length,
          "slots used %" -> 100 * run.usage.used,
          "slots free on machines in use %" -> 100 * run.usage.broken,
          "slowest round ms" -> run.slowestRound.toUnit(MILLISECONDS)
        )
      }
    )
    results.plot(
      "queueing",
      s"Time in the queue, load $load",
      "part of the flares",
      "seconds",
      played.map((discipline, run) =>
        quantiles(discipline.name, seconds(run.outcomes)(o => o.placed - o.arrived))
      )
    )
    results.plot(
      "starting",
      "From placed to running",
      "part of the flares",
      "seconds",
      played.map((discipline, run) =>
        quantiles(discipline.name, seconds(run.outcomes)(o => o.running - o.placed))
      )
    )

  private def quantiles(name: String, values: Vector[Double]): Line =
    Line(name, (1 to 100).toVector.map(i => (i / 100.0, Statistics.quantile(values, i / 100.0))))

  /** The shape of the paper's figures 7 and 8: when each worker of one flare could begin, for n = 48 and 960
    * on 20 machines of 48 slots, by granularity.
    */
  def startUp(): Unit =
    val granularities = Vector(1, 2, 4, 6, 12, 24, 48)
    for size <- Vector(48, 960) do
      val ready = granularities.map(g => g -> workersReady(size, g))
      val alone = ready.head._2
      results.table(
        s"startup-n$size",
        ready.map { (g, times) =>
          val range = times.max - times.min
          Seq(
            "g" -> g,
            "first s" -> times.min,
            "median s" -> Statistics.median(times),
            "all s" -> times.max,
            "range s" -> range,
            "deviation s" -> Statistics.medianDeviation(times),
            "all: times faster than g=1" -> alone.max / times.max,
            "range: times narrower" -> (alone.max - alone.min) / range
          )
        }
      )
      results.plot(
        s"startup-n$size",
        s"When workers are ready, n = $size (the paper's figure 7)",
        "seconds",
        "workers ready",
        ready.map((g, times) => Line(s"g=$g", cumulative(times)))
      )
    // five seconds of work each, as plain functions and as one flare that starts together
    val work = 5.0
    val functions = workersReady(960, 1)
    val together = workersReady(960, 48)
    results.plot(
      "simultaneity",
      "Workers running at an instant, n = 960, 5 s each (the paper's figure 8)",
      "seconds",
      "workers running",
      Vector(
        Line("g=1, each begins by itself", running(functions, work)),
        Line("g=48, each begins by itself", running(together, work)),
        Line("g=48, started together", running(together.map(_ => together.max), work))
      )
    )

  /** Seconds from the request to each worker being ready. */
  private def workersReady(size: Int, g: Int): Vector[Double] =
    val view = ClusterView(Vector.tabulate(20)(i => Machine(InvokerId(f"i$i%02d"), slots, slots)))
    val policy = Packing.policies(DefaultGranularity.Cheapest(PackCosts.Measured))(Packing.Homogeneous)
    val plan =
      policy.place(view, size, Some(g)).fold(why => throw IllegalStateException(why.toString), identity)
    val machines = Machines(times, Random(seed))
    machines
      .start(plan, MonotonicTime.Zero)
      .zip(plan.packs)
      .flatMap((ready, pack) => machines.workers(ready, pack.size).map(_ - MonotonicTime.Zero))
      .map(_.toUnit(SECONDS))
      .sorted

  private def cumulative(times: Vector[Double]): Vector[(Double, Double)] =
    (0.0, 0.0) +: times.zipWithIndex.map((time, index) => (time, index + 1.0))

  private def running(starts: Vector[Double], work: Double): Vector[(Double, Double)] =
    val end = starts.max + work + 0.5
    (0 to 400).toVector.map { i =>
      val at = end * i / 400
      (at, starts.count(start => start <= at && at < start + work).toDouble)
    }
