package burst.simulator

import burst.controller.placement.Packing
import burst.node.MonotonicTime
import java.nio.file.Path
import munit.FunSuite
import scala.util.Random

class SimulationSuite extends FunSuite:
  private val times = StartTimes(Spread(150e3, 170e3, 190e3), Spread(90e3, 100e3, 110e3), worker = 50)

  private def play(discipline: Discipline, load: Double = 0.8, seed: Long = 7): (Vector[Arrival], Played) =
    val arrivals = Workload.bursts(150, 20 * 8, load, 20 * 8, discipline, Random(seed))
    (arrivals, Simulation(20, 8, times, discipline.backfill, seed).play(arrivals))

  for discipline <- Discipline.All do
    test(s"${discipline.name}: every flare runs once and complete, and slots are never oversubscribed"):
      val (arrivals, played) = play(discipline)
      assertEquals(played.outcomes.map(_.size).sorted, arrivals.map(_.request.size).sorted)
      assert(played.outcomes.forall(o =>
        o.arrived <= o.placed && o.placed < o.running && o.running <= o.ended
      ))
      val changes = played.outcomes.flatMap(o => Vector((o.placed, o.size), (o.ended, -o.size))).sorted
      assert(changes.scanLeft(0)(_ + _._2).forall(_ <= 160))
      assert(played.usage.used > 0.3 && played.usage.used <= 1, played.usage)

  test("the same seed gives the same simulation"):
    assertEquals(play(Discipline.All.head)._2.outcomes, play(Discipline.All.head)._2.outcomes)

  test(
    "without backfill flares start in their order of arrival; with it small ones overtake large ones"
  ):
    val fifo = play(Discipline.All.last, load = 1.5)._2.outcomes.sortBy(_.arrived).map(_.placed)
    assertEquals(fifo, fifo.sorted)
    def smallWait(discipline: Discipline) =
      Statistics.median(
        play(discipline, load = 1.5)._2.outcomes.filter(_.size <= 4).map(o =>
          (o.placed - o.arrived).toMicros.toDouble
        )
      )
    assert(smallWait(Discipline.All.head) < smallWait(Discipline.All.last))

  test("a machine starts its containers one after another, and machines work in parallel"):
    import burst.controller.placement.Plan
    import burst.protocol.InvokerId
    val (a, b) = (InvokerId("a"), InvokerId("b"))
    val certain = StartTimes(Spread(100, 100, 100), Spread(10, 10, 10), worker = 1)
    val machines = Machines(certain, Random(1))
    def at(micros: Int*) = micros.toVector.map(MonotonicTime.ofMicros(_))
    assertEquals(
      machines.start(Plan.of(Vector(a -> 1, a -> 1, b -> 1), 1), MonotonicTime.ofMicros(1000)),
      at(1100, 1110, 1100)
    )
    val behind = machines.start(Plan.of(Vector(a -> 1), 1), MonotonicTime.ofMicros(1105))
    assertEquals(behind, at(1120), "behind another flare's")
    assertEquals(machines.workers(MonotonicTime.ofMicros(50), 3), at(50, 51, 52))

  test("draws lie within their spread, around its mode"):
    val random = Random(1)
    val drawn = Vector.fill(10000)(times.container.draw(random).toMicros.toDouble)
    assert(drawn.min >= 150e3 && drawn.max <= 190e3)
    assertEqualsDouble(Statistics.median(drawn), 170e3, 2e3)

  test("start times are read from the measurements, and a missing row is named"):
    val results = Path.of(sys.props("user.dir")).resolveSibling("benchmarks").resolve("results/platform.csv")
    val read = StartTimes.read(results)
    assert(read.further.mode < read.container.mode && read.worker < 1000, read)
    val empty =
      java.nio.file.Files.writeString(java.nio.file.Files.createTempFile("platform", ".csv"), "what,min\n")
    assert(intercept[IllegalArgumentException](StartTimes.read(empty)).getMessage.contains("cold flare"))
    java.nio.file.Files.delete(empty)

  test("statistics"):
    assertEquals(Statistics.median(Vector(3, 1, 2)), 2.0)
    assertEquals(Statistics.quantile((1 to 100).map(_.toDouble).toVector, 0.99), 99.0)
    assertEquals(Statistics.medianDeviation(Vector(1, 1, 2, 4, 9)), 1.0)
    assertEquals(Workload.request(3, Packing.Mixed, None, "x").size, 3)
