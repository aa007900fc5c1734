package burst.controller.scheduler

import burst.controller.placement.Plan
import burst.node.MonotonicTime
import burst.protocol.{FlareId, InvokerId}
import munit.FunSuite
import scala.concurrent.duration.{Duration, DurationInt, FiniteDuration}

class ForecastSuite extends FunSuite:
  private val start = MonotonicTime.Zero
  private val a = InvokerId("a")

  private def waiting(size: Int, since: Int, timeout: Int, tenant: String = "A") =
    Waiting(
      FlareId.random(),
      1,
      Samples.request(size, tenant, timeout = timeout.seconds),
      start + since.micros
    )

  /** 8 slots, all held until second 5. */
  private val full = ClusterState.empty
    .up(a, 8)
    .reserve(
      AttemptId(FlareId.random(), 1),
      "other",
      Plan.of(Vector(a -> 8), 8),
      Samples.walltime.copy(expected = start + 5.seconds)
    )
    .get
  private val nothingKnown = WalltimePredictor.empty(grace = Duration.Zero)
  private val (one, two) = (waiting(6, 0, 10), waiting(4, 1, 10))
  private val queue = FlareQueue.empty.enqueue(one).enqueue(two)

  private def estimate(
      flare: Waiting,
      cluster: ClusterState = full,
      now: MonotonicTime = start,
      known: WalltimePredictor = nothingKnown
  ) =
    Forecast(cluster, queue, now, known).of(flare.id, queue).map(_.copy(reason = None))

  test("the worked example"):
    assertEquals(estimate(one), Some(QueueEstimate(1, Right(start + 5.seconds))))
    assertEquals(estimate(two), Some(QueueEstimate(2, Right(start + 15.seconds))))

  test("past durations shorten the estimated wait, and never extend it beyond the time-out"):
    val quick = nothingKnown.learn(Samples.walltime.copy(one.request.definition), start + 2.seconds)
    assertEquals(estimate(two, known = quick), Some(QueueEstimate(2, Right(start + 7.seconds))))
    val slow = nothingKnown.learn(Samples.walltime.copy(one.request.definition), start + 99.seconds)
    assertEquals(estimate(two, known = slow), Some(QueueEstimate(2, Right(start + 15.seconds))))

  test("an unknown flare has no estimate, and one without enough room has no start"):
    assertEquals(estimate(waiting(1, 0, 10)), None)
    assertEquals(estimate(one, full.up(a, 4)), Some(QueueEstimate(1, Left(WaitsFor.Invokers))))
    assertEquals(
      estimate(two, full.up(a, 4)),
      Some(QueueEstimate(2, Right(start + 5.seconds))),
      "it overtakes the first one"
    )
    assertEquals(estimate(one, full.down(a)), Some(QueueEstimate(1, Left(WaitsFor.Invokers))))

  test("slots that a group holds have no known end, even if enough machines are up"):
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
    val busy = ClusterState.empty.up(a, 8).report(a, overloaded = true, Set.empty, shares = false)
    assertEquals(estimate(one, busy), Some(QueueEstimate(1, Left(WaitsFor.Slots))))

  test("a flare whose packs fit on no machine reports that it waits for invokers; each kind is checked once"):
    val two = ClusterState.empty.up(a, 8).up(InvokerId("b"), 8)
    val wide = Waiting(FlareId.random(), 1, Samples.request(12, granularity = Some(6)), start)
    val wider = wide.copy(id = FlareId.random(), request = Samples.request(13, granularity = Some(6)))
    val alike = (1 to 9).map(_ => wider.copy(id = FlareId.random()))
    val all = (wide +: wider +: alike).foldLeft(FlareQueue.empty)(_.enqueue(_))
    var looks = 0
    val forecast = Forecast(
      two,
      all,
      start,
      nothingKnown,
      request =>
        looks += 1
        request.size <= 12
    )
    assertEquals(forecast.of(wide.id, all).map(_.start), Some(Right(start)))
    val reason =
      "the cluster can give 16 slots now, but not on machines large enough: the flare needs 13 of " +
        s"${wider.request.memory} MiB, in packs of 6"
    val stands = QueueEstimate(2, Left(WaitsFor.Invokers), Some(reason))
    assertEquals(forecast.of(wider.id, all), Some(stands))
    assertEquals(looks, 2)

  /** Forecasts kept for 250 ms, each taking a given time to make, on a clock that the test sets. */
  private final class Asked(var queue: FlareQueue, takes: FiniteDuration = Duration.Zero):
    var (made, now) = (0, start)
    private val forecasts = Forecasts(
      250.millis,
      () => now,
      at =>
        made += 1
        now += takes
        Forecast(full, queue, at, nothingKnown)
    )
    def position(flare: Waiting): Option[Int] = forecasts.queueEstimate(flare.id, queue).map(_.position)

  private val many = (1 to 500).map(i => waiting(1, i, 10, tenant = s"n${i % 7}"))
  private val all = many.foldLeft(FlareQueue.empty)(_.enqueue(_))

  test("forecasts are shared: 500 flares that ask ten times a second cause four a second"):
    val asked = Asked(all)
    for tick <- 0 until 10; flare <- many do
      asked.now = start + 100.millis * tick
      assert(asked.position(flare).isDefined)
    assertEquals(asked.made, 4)

  test(
    "a forecast that takes long is made rarely, so that the scheduler keeps 19 of 20 parts of its time"
  ):
    val asked = Asked(all, takes = 1.second)
    for tick <- 0 to 200 do
      asked.now = asked.now.max(start + 100.millis * tick)
      assert(asked.position(many.head).isDefined)
    assertEquals(asked.made, 2)

  test("a flare that came later stands behind the others, without a new forecast"):
    val asked = Asked(all)
    assertEquals(asked.position(many.head).isDefined, true)
    val (first, last) = (waiting(1, 501, 10, "n3"), waiting(1, 502, 10, "n1"))
    asked.queue = asked.queue.enqueue(first).enqueue(last)
    assertEquals(asked.position(last), Some(502))
    assertEquals(asked.position(first), Some(501))
    assertEquals(asked.made, 1)
    asked.queue = asked.queue.remove(many(3).id, many(3).tenant).enqueue(many(3))
    assertEquals(asked.position(many(3)), Some(503), "it was placed, and is queued again")
    assertEquals(asked.position(waiting(1, 503, 10)), None)
    assertEquals(asked.made, 1)

  test("the longest of the last five durations counts"):
    val key = one.request.definition
    def after(seconds: Int*) =
      val known =
        seconds.foldLeft(nothingKnown)((k, s) => k.learn(Samples.walltime.copy(key), start + s.seconds))
      known.expectedEnd(one.request, start) - start
    assertEquals(after(3, 9, 2), 9.seconds)
    assertEquals(after(9, 1, 2, 1, 3, 2), 3.seconds)
