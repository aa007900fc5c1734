package burst.controller.scheduler

import burst.controller.flare.FlareState
import burst.controller.metrics.{FlareMetrics, MetricsSettings}
import burst.node.metrics.MetricsRegistry
import burst.protocol.{FailureKind, GroupRole, PackEvent, Timestamp}
import scala.concurrent.duration.DurationInt

/** The times of flares in the metrics. */
class FlareTimesSuite extends SchedulerFixture:
  private final class Measured:
    private val registry = MetricsRegistry()
    val world: World = World(metrics = FlareMetrics(registry, MetricsSettings.Plain))

    def shows(expected: String*)(using munit.Location): Unit =
      val shown = String(registry.text(), "UTF-8")
      expected.foreach(line => assert(shown.linesIterator.contains(line), s"$line is not in\n$shown"))

  test("a flare's waiting, start and run times and its result are recorded"):
    val measured = Measured()
    import measured.world
    val a = world.invoker("a", 4)
    val first = world.submit(Samples.request(4))
    val firstEnd = world.await(first.id)
    val pack = a.prepared()
    val second = world.await(world.submit(Samples.request(2)).id)
    world.pass(2.seconds)
    a.comesUp(pack)
    kit.createTestProbe[Any]().awaitAssert(
      measured.shows("""burst_flare_start_seconds_count{start="cold"} 1""")
    )
    world.pass(3.seconds)
    a.succeed(pack)
    world.ended(firstEnd)
    a.succeed(a.prepared())
    assertEquals(world.ended(second).state, FlareState.Succeeded)
    measured.shows(
      """burst_flare_results_total{result="succeeded"} 2.0""",
      """burst_flare_queue_seconds_bucket{le="0.001"} 1""",
      "burst_flare_queue_seconds_sum 5.0",
      "burst_flare_queue_seconds_count 2",
      "burst_flare_placement_seconds_count 2",
      """burst_flare_start_seconds_sum{start="cold"} 2.0""",
      """burst_flare_start_seconds_count{start="cold"} 1""",
      """burst_flare_start_seconds_count{start="warm"} 1""",
      "burst_flare_run_seconds_sum 3.0",
      "burst_flare_run_seconds_count 2"
    )

  test("a retry has its own wait and start, and the flare has one end"):
    val measured = Measured()
    import measured.world
    val a = world.invoker("a", 2)
    val end = world.await(world.submit(Samples.request(1, retries = 1)).id)
    val pack = a.prepared()
    a.fail(pack, 0, FailureKind.Panic)
    a.aborted()
    world.pass(4.seconds)
    a.end(pack)
    val again = a.prepared()
    a.fail(again, 0, FailureKind.Panic)
    a.aborted()
    a.end(again)
    assertEquals(world.ended(end).attempt, 2)
    measured.shows(
      """burst_flare_results_total{result="failed"} 1.0""",
      """burst_flare_failures_total{kind="panic"} 1.0""",
      "burst_flare_queue_seconds_count 2",
      "burst_flare_queue_seconds_sum 0.0",
      "burst_flare_placement_seconds_count 2"
    )

  test("a flare that never got its slots records its end, and no other time"):
    val measured = Measured()
    import measured.world
    world.invoker("a", 2)
    world.submit(Samples.request(2)): Unit
    val waiting = world.submit(Samples.request(1))
    val end = world.await(waiting.id)
    world.cancel(waiting.id): Unit
    assertEquals(world.ended(end).state, FlareState.Cancelled)
    measured.shows(
      """burst_flare_results_total{result="cancelled"} 1.0""",
      """burst_flare_failures_total{kind="cancelled"} 1.0""",
      "burst_flare_queue_seconds_count 1",
      "burst_flare_run_seconds_count 0"
    )

  test("the end of a group is not counted as a result"):
    val measured = Measured()
    import measured.world
    val a = world.invoker("a", 2)
    val group = world.submit(Samples.request(1).copy(group = Some(GroupRole.Holder(60.seconds))))
    val end = world.await(group.id)
    val pack = a.prepared()
    a.ready(pack)
    world.cancel(group.id): Unit
    a.aborted()
    a.report(pack, PackEvent.PackEnded(reusable = false, None, Timestamp.ofMicros(4)))
    assertEquals(world.ended(end).state, FlareState.Cancelled)
    measured.shows(
      """burst_flare_results_total{result="cancelled"} 0.0""",
      """burst_flare_start_seconds_count{start="warm"} 1""",
      "burst_flare_run_seconds_count 0"
    )
