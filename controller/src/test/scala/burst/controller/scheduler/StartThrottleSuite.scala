package burst.controller.scheduler

import burst.node.MonotonicTime
import burst.protocol.{FlareId, Timestamp}
import munit.FunSuite
import scala.concurrent.duration.DurationInt

class StartThrottleSuite extends FunSuite:
  private val start = MonotonicTime.Zero
  private def attempt = AttemptId(FlareId.random(), attempt = 1)

  test("a namespace may use a quarter of the slots for starting flares, and at least two"):
    val throttle = StartThrottle.empty(100.micros, areStoredFirst = false)
    assertEquals(Vector(1, 8, 12, 960).map(slots => throttle.room(slots)("a")), Vector(2, 2, 3, 240))
    val (one, two) = (attempt, attempt)
    val busy = throttle.placed(one, "a", start).placed(two, "a", start + 50.micros)
    assertEquals((busy.room(8)("a"), busy.room(8)("b")), (0, 2))
    assertEquals(busy.over(one).room(8)("a"), 1)
    assertEquals(busy.over(attempt), busy)

  test("if flares are stored before they start, the limit is half as large again"):
    val throttle = StartThrottle.empty(100.micros, areStoredFirst = true)
    assertEquals(Vector(1, 8, 16, 960).map(slots => throttle.room(slots)("a")), Vector(2, 3, 6, 360))

  test("a slow start counts no longer than the limit"):
    val throttle = StartThrottle.empty(
      100.micros,
      areStoredFirst = false
    ).placed(attempt, "a", start).placed(attempt, "a", start + 50.micros)
    assertEquals(
      Vector(99, 100, 150).map(now => throttle.at(start + now.micros).room(8)("a")),
      Vector(0, 1, 2)
    )

/** How the scheduler applies the throttle. */
class StartThrottleSchedulingSuite extends SchedulerFixture:
  private val settings = Samples.settings.copy(startInterval = 100.millis)
  private def of(namespace: String) =
    val request = Samples.request(1)
    request.copy(definition = request.definition.copy(namespace = namespace))

  test("a namespace's third flare starts when one of the first two runs; another namespace does not wait"):
    val world = World(settings = settings)
    val a = world.invoker("a", 8)
    world.submit(of("greedy"))
    world.submit(of("greedy"))
    val first = a.prepared()
    a.prepared()
    val third = world.submit(of("greedy"))
    a.hearsNothing()
    val other = world.submit(of("modest"))
    assertEquals(a.prepared().assignment.flareId, other.id)
    a.report(first, burst.protocol.PackEvent.Ready(None, Timestamp.Epoch))
    assertEquals(a.prepared().assignment.flareId, third.id)

  test(
    "a slow start delays others of its namespace for the limit only, and a failed one does not"
  ):
    val world = World(settings = settings)
    val a = world.invoker("a", 8)
    world.submit(of("greedy"))
    val failing = world.submit(of("greedy"))
    // each has its own actor, so that either may be the first to ask
    val pack = Vector.fill(2)(a.prepared()).find(_.assignment.flareId == failing.id).get
    val third = world.submit(of("greedy"))
    val fourth = world.submit(of("greedy"))
    a.hearsNothing()
    a.end(pack)
    assertEquals(a.prepared().assignment.flareId, third.id)
    a.hearsNothing()
    world.pass(100.millis)
    assertEquals(a.prepared().assignment.flareId, fourth.id)
