package burst.controller.scheduler

import burst.protocol.{FlareId, InvokerId}
import munit.FunSuite

class ForecastSuite extends FunSuite:
  private val second = 1_000_000L
  private val a = InvokerId("a")

  private def waiting(size: Int, since: Long, timeout: Int, tenant: String = "A") =
    Waiting(FlareId.random(), 1, Samples.request(size, tenant, timeout = timeout * 1000L), since)

  /** 8 slots, all lent until second 5. */
  private val full = ClusterState.empty
    .up(a, 8)
    .reserve(
      AttemptId(FlareId.random(), 1),
      "other",
      Plan.of(Vector(a -> 8), 8),
      Samples.walltime.copy(expected = 5 * second)
    )
    .get
  private val nothingKnown = WalltimePredictor.empty(grace = 0)
  private val (one, two) = (waiting(6, 0, 10), waiting(4, 1, 10))
  private val queue = FlareQueue.empty.enqueue(one).enqueue(two)

  private def estimate(
      flare: Waiting,
      cluster: ClusterState = full,
      now: Long = 0,
      known: WalltimePredictor = nothingKnown
  ) =
    Forecast.estimates(cluster, queue, now, known).get(flare.id).map(_.copy(reason = None))

  test("the worked example"):
    assertEquals(estimate(one), Some(QueueEstimate(1, Right(5 * second))))
    assertEquals(estimate(two), Some(QueueEstimate(2, Right(15 * second))))

  test("past durations shorten the wait, but never beyond the time-out"):
    val quick = nothingKnown.learn(Walltime(one.request.definition, 0, 0, 0), 2 * second)
    assertEquals(estimate(two, known = quick), Some(QueueEstimate(2, Right(7 * second))))
    val slow = nothingKnown.learn(Walltime(one.request.definition, 0, 0, 0), 99 * second)
    assertEquals(estimate(two, known = slow), Some(QueueEstimate(2, Right(15 * second))))

  test("no flare, no estimate; no room, no time"):
    assertEquals(estimate(waiting(1, 0, 10)), None)
    assertEquals(estimate(one, full.up(a, 4)), Some(QueueEstimate(1, Left(WaitsFor.Invokers))))
    assertEquals(estimate(two, full.up(a, 4)), Some(QueueEstimate(2, Right(5 * second))), "it is passed")
    assertEquals(estimate(one, full.down(a)), Some(QueueEstimate(1, Left(WaitsFor.Invokers))))

  test("slots that a group holds come back nobody knows when, though enough machines are up"):
    val held = ClusterState.empty
      .up(a, 8)
      .reserve(
        AttemptId(FlareId.random(), 1),
        "other",
        Plan.of(Vector(a -> 4), 4),
        Samples.walltime.copy(openEnded = true)
      )
      .get
    assertEquals(estimate(one, held), Some(QueueEstimate(1, Left(WaitsFor.Slots))))
    val busy = ClusterState.empty.up(a, 8).report(a, overloaded = true, Set.empty)
    assertEquals(estimate(one, busy), Some(QueueEstimate(1, Left(WaitsFor.Slots))))

  test("who asks shares one forecast: five hundred that ask ten times a second make four a second"):
    var made = 0
    val many = (1 to 500).map(i => waiting(1, i, 10, tenant = s"n${i % 7}"))
    val all = many.foldLeft(FlareQueue.empty)(_.enqueue(_))
    val forecasts = Forecasts(
      second / 4,
      now =>
        made += 1
        Forecast.estimates(full, all, now, nothingKnown)
    )
    for tick <- 0 until 10; flare <- many do
      assert(forecasts.queueEstimate(flare.id, all, tick * second / 10).isDefined)
    assertEquals(made, 4)
    val late = waiting(1, 501, 10)
    assertEquals(forecasts.queueEstimate(late.id, all, second), None)
    assertEquals(made, 4)
    val longer = all.enqueue(late)
    assertEquals(forecasts.queueEstimate(late.id, longer, second), None)
    assertEquals(made, 5)
    assertEquals(forecasts.queueEstimate(late.id, longer, second), None)
    assertEquals(made, 5, "the queue is as it was")

  test("one that came since is not kept waiting for the next forecast"):
    var queue = FlareQueue.empty
    val forecasts = Forecasts(second, now => Forecast.estimates(full, queue, now, nothingKnown))
    assertEquals(forecasts.queueEstimate(one.id, queue, 0), None)
    queue = queue.enqueue(one)
    assertEquals(forecasts.queueEstimate(one.id, queue, 0).map(_.position), Some(1))

  test("the longest of the last five counts"):
    val key = one.request.definition
    def after(seconds: Int*) =
      val known = seconds.foldLeft(nothingKnown)((k, s) => k.learn(Walltime(key, 0, 0, 0), s * second))
      known.expected(one.request) / second
    assertEquals(after(3, 9, 2), 9L)
    assertEquals(after(9, 1, 2, 1, 3, 2), 3L)
