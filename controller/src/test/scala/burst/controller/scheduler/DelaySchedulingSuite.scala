package burst.controller.scheduler

import burst.controller.placement.{Packing, Plan}
import burst.node.MonotonicTime
import burst.protocol.{FlareId, InvokerId, PackId}
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}

class DelaySchedulingSuite extends munit.FunSuite:
  private val wait = 50.millis
  private val start = MonotonicTime.Zero
  private val (a, b) = (InvokerId("a"), InvokerId("b"))
  private val round =
    SchedulingRound(
      Packing.policies(Samples.settings.defaultGranularity),
      overtaking = Duration.Zero,
      depth = 100
    )

  /** Two machines of four slots; other flares hold three slots on each for this time. */
  private def busy(time: FiniteDuration) =
    Vector(a, b).foldLeft(ClusterState.empty.up(a, 4).up(b, 4)): (state, id) =>
      val walltime = Samples.walltime.copy(expected = start + time, latest = start + 1.minute)
      state
        .reserve(AttemptId(FlareId.random(), 1), "other", Plan.of(Vector(id -> 3), 3), walltime)
        .getOrElse(fail("no room"))

  /** A flare that is expected to run this long. */
  private def waiting(size: Int, takes: FiniteDuration = 1.minute) =
    val request = Samples.request(size)
    Waiting(FlareId.random(), 1, request.copy(definition = request.definition.copy(name = s"$takes")), start)

  private val known = Vector(wait, 1.minute).foldLeft(WalltimePredictor.empty(grace = Duration.Zero)):
    (known, takes) =>
      known.learn(Samples.walltime.copy(waiting(1, takes).request.definition), start + takes)

  private def run(cluster: ClusterState, now: FiniteDuration, delays: DelayScheduling, flares: Waiting*) =
    val queue = flares.foldLeft(FlareQueue.empty)(_.enqueue(_))
    round.run(
      cluster,
      queue,
      start + now,
      _ => Int.MaxValue,
      known,
      delays = delays
    )

  private def machines(outcome: SchedulingRound.Outcome) = outcome.placed.map(_.plan.demand.keySet)

  test("a flare that would be split waits for a machine that is soon free, and short flares overtake it"):
    val (two, one) = (waiting(2), waiting(1, takes = wait))
    val outcome = run(busy(wait), Duration.Zero, DelayScheduling(wait), two, one)
    assertEquals(outcome.placed.map(_.flare), Vector(one))
    assertEquals(outcome.delays.since, Map(two.id -> start))
    val left = outcome.cluster.release(outcome.cluster.packsOn(b).head(0), Vector(PackId(0)))
    val after = round.run(
      left,
      outcome.queue,
      start + 1.micro,
      _ => Int.MaxValue,
      WalltimePredictor.empty(Duration.Zero),
      delays = outcome.delays
    )
    assertEquals(machines(after), Vector(Set(b)))
    assertEquals(after.delays.since, Map.empty)

  test("a long flare does not take slots that the waiting flare could start with"):
    val (two, long) = (waiting(2), waiting(1))
    val outcome = run(busy(wait), Duration.Zero, DelayScheduling(wait), two, long)
    assertEquals(outcome.placed, Vector.empty)
    // A third machine has a slot that the waiting flare does not need.
    val more = run(busy(wait).up(InvokerId("c"), 1), Duration.Zero, DelayScheduling(wait), two, long)
    assertEquals(machines(more), Vector(Set(InvokerId("c"))))

  test("a flare waits at most the limit, counted from when it could first be split"):
    val two = waiting(2)
    val outcome = run(busy(wait), 7.micros, DelayScheduling(wait), two)
    val later = run(busy(wait), 6.micros + wait, outcome.delays, two)
    assertEquals((machines(later), later.delays.since), (Vector.empty, Map(two.id -> (start + 7.micros))))
    val last = run(busy(wait), 7.micros + wait, later.delays, two)
    assertEquals((machines(last), last.delays.since), (Vector(Set(a, b)), Map.empty))

  test("a flare does not wait if it would take too long, fits no machine, or delays are off"):
    Vector(
      run(busy(wait + 1.micro), Duration.Zero, DelayScheduling(wait), waiting(2)),
      run(ClusterState.empty.up(a, 4).up(b, 4), Duration.Zero, DelayScheduling(wait), waiting(5)),
      run(busy(wait), Duration.Zero, DelayScheduling.Off, waiting(2))
    ).foreach(outcome => assertEquals(machines(outcome), Vector(Set(a, b))))

  test("a flare that no longer waits is forgotten"):
    val id = FlareId.random()
    val waiting = DelayScheduling(wait).waits(id, start)
    assertEquals((waiting.left(start + 1.micro), waiting.left(start + wait)), (Some(wait - 1.micro), None))
    assertEquals(waiting.over(id).left(start + 1.micro), None)
