package burst.controller.scheduler

import burst.protocol.{FlareId, InvokerId}

class DelaySchedulingSuite extends munit.FunSuite:
  private val wait = 50_000L
  private val (a, b) = (InvokerId("a"), InvokerId("b"))
  private val round =
    SchedulingRound(PlacementPolicy.all(Samples.settings.defaultGranularity), 0, depth = 100)

  /** Two machines of four slots, of which others hold three each for so long. */
  private def busy(micros: Long) = Vector(a, b).foldLeft(ClusterState.empty.up(a, 4).up(b, 4)): (state, id) =>
    val walltime = Walltime(Samples.request(3).definition, 0, micros, 60_000_000)
    state
      .reserve(AttemptId(FlareId.random(), 1), "other", Plan.of(Vector(id -> 3), 3), walltime)
      .getOrElse(fail("no room"))

  /** One that is expected to take so long. */
  private def waiting(size: Int, takes: Long = 60_000_000) =
    val request = Samples.request(size)
    Waiting(FlareId.random(), 1, request.copy(definition = request.definition.copy(name = s"$takes")), 0)

  private val known = Vector(wait, 60_000_000).foldLeft(WalltimePredictor.empty(grace = 0)): (known, takes) =>
    known.learn(Walltime(waiting(1, takes).request.definition, 0, 0, 0), takes)

  private def run(cluster: ClusterState, now: Long, delays: DelayScheduling, flares: Waiting*) =
    val queue = flares.foldLeft(FlareQueue.empty)(_.enqueue(_))
    round.run(
      cluster,
      queue,
      now,
      _ => Int.MaxValue,
      known,
      delays = delays
    )

  private def machines(outcome: SchedulingRound.Outcome) = outcome.placed.map(_.plan.demand.keySet)

  test("who would be split waits for a machine that short ones will leave, and others pass"):
    val (two, one) = (waiting(2), waiting(1, takes = wait))
    val outcome = run(busy(wait), 0, DelayScheduling(wait), two, one)
    assertEquals(outcome.placed.map(_.flare), Vector(one))
    assertEquals(outcome.delays.since, Map(two.id -> 0L))
    val left = outcome.cluster.release(outcome.cluster.packsOn(b).head(0), Vector(0))
    val after = round.run(
      left,
      outcome.queue,
      1,
      _ => Int.MaxValue,
      WalltimePredictor.empty(0),
      delays = outcome.delays
    )
    assertEquals(machines(after), Vector(Set(b)))
    assertEquals(after.delays.since, Map.empty)

  test("who stays longer does not take what the one that waits could begin with"):
    val (two, long) = (waiting(2), waiting(1))
    val outcome = run(busy(wait), 0, DelayScheduling(wait), two, long)
    assertEquals(outcome.placed, Vector.empty)
    // There is more than that.
    val more = run(busy(wait).up(InvokerId("c"), 1), 0, DelayScheduling(wait), two, long)
    assertEquals(machines(more), Vector(Set(InvokerId("c"))))

  test("nobody waits longer than may be, from when it could first be split"):
    val two = waiting(2)
    val outcome = run(busy(wait), 7, DelayScheduling(wait), two)
    val later = run(busy(wait), 6 + wait, outcome.delays, two)
    assertEquals((machines(later), later.delays.since), (Vector.empty, Map(two.id -> 7L)))
    val last = run(busy(wait), 7 + wait, later.delays, two)
    assertEquals((machines(last), last.delays.since), (Vector(Set(a, b)), Map.empty))

  test("nobody waits for what takes longer, for what no machine holds, or where that is off"):
    Vector(
      run(busy(wait + 1), 0, DelayScheduling(wait), waiting(2)),
      run(ClusterState.empty.up(a, 4).up(b, 4), 0, DelayScheduling(wait), waiting(5)),
      run(busy(wait), 0, DelayScheduling.Off, waiting(2))
    ).foreach(outcome => assertEquals(machines(outcome), Vector(Set(a, b))))

  test("who waits no more is forgotten"):
    val id = FlareId.random()
    val waiting = DelayScheduling(wait).waits(id, 0)
    assertEquals((waiting.left(1), waiting.left(wait)), (Some(wait - 1), None))
    assertEquals(waiting.over(id).left(1), None)
