package burst.controller.scheduler

import burst.protocol.{FlareId, InvokerId}
import munit.ScalaCheckSuite
import org.scalacheck.Prop.*
import org.scalacheck.{Gen, Prop}

class SchedulingRoundSuite extends ScalaCheckSuite:
  private val second = 1_000_000L
  private val round = SchedulingRound(PlacementPolicy.all(DefaultGranularity.Largest), 10 * second)
  private val a = InvokerId("a")
  private val unlimited: String => Int = _ => Int.MaxValue

  private def waiting(tenant: String, size: Int, since: Long = 0) =
    Waiting(FlareId.random(), 1, Samples.request(size, tenant), since)

  private def queueOf(flares: Waiting*) = flares.foldLeft(FlareQueue.empty)(_.enqueue(_))

  private def cluster(slots: Int, taken: Int = 0) =
    val empty = ClusterState.empty.up(a, slots)
    if taken == 0 then empty
    else empty.reserve(ClusterState.Owner(FlareId.random(), 1), "other", Plan.of(Vector(a -> taken), 1)).get

  /** Serves the queue on a cluster that takes one flare at a time; the tenants in their order. */
  private def order(queue: FlareQueue, slots: Int): Vector[String] =
    Iterator
      .unfold(queue) { rest =>
        rest.heads.headOption.map { head =>
          val outcome = round.run(cluster(slots, slots - head.size), rest, 0, unlimited)
          (outcome.placed.head.flare.tenant, outcome.queue)
        }
      }
      .toVector

  test("a namespace with many flares does not hold up another"):
    val flares = Vector.fill(6)(waiting("A", 8)) ++ Vector.fill(2)(waiting("B", 8))
    assertEquals(order(queueOf(flares*), 8).mkString, "ABABAAAA")

  test("shares are counted in slots, not in flares"):
    val flares = Vector.fill(4)(waiting("A", 2)) :+ waiting("B", 8, 1) :+ waiting("B", 8, 2)
    assertEquals(order(queueOf(flares*), 8).mkString, "ABAAAB")

  test("idling earns no credit, asking one at a time loses none"):
    var queue = queueOf(Vector.fill(4)(waiting("A", 8))*)
    for _ <- 1 to 2 do queue = round.run(cluster(8), queue, 0, unlimited).queue
    queue = Vector.fill(3)(waiting("B", 8)).foldLeft(queue)(_.enqueue(_))
    assertEquals(order(queue, 8).mkString, "BABAB")

  test("first come, first served within a namespace, also behind one that does not fit"):
    val outcome = round.run(cluster(8, 4), queueOf(waiting("A", 8), waiting("A", 2)), 0, unlimited)
    assertEquals(outcome.placed, Vector.empty)

  test("others may pass a large flare until it is overdue, then slots are kept for it"):
    val (large, small) = (waiting("A", 8), waiting("B", 2, 1))
    val passed = round.run(cluster(8, 4), queueOf(large, small), 3 * second, unlimited)
    assertEquals(passed.placed.map(_.flare), Vector(small))
    val kept = round.run(cluster(8, 4), queueOf(large, small), 10 * second, unlimited)
    assertEquals(kept.placed, Vector.empty)
    val free = round.run(cluster(8), queueOf(large, small), 11 * second, unlimited)
    assertEquals(free.placed.map(_.flare), Vector(large))

  test("one that is larger than what is up holds up nobody, however long it waits"):
    val (large, small) = (waiting("A", 80), waiting("B", 2, 1))
    assertEquals(
      round.run(cluster(8), queueOf(large, small), 100 * second, unlimited).placed.map(_.flare),
      Vector(small)
    )

  test("a namespace's slot limit holds up only itself"):
    val flares = Vector(waiting("A", 4), waiting("A", 4), waiting("B", 4))
    val outcome = round.run(cluster(16), queueOf(flares*), 100 * second, t => if t == "A" then 6 else 16)
    assertEquals(outcome.placed.map(_.flare), Vector(flares(0), flares(2)))

  test("a flare that leaves the queue is not placed"):
    val (one, two) = (waiting("A", 4), waiting("A", 4))
    val queue = queueOf(one, two).remove(one.id)
    assertEquals(queue.length, 1)
    assertEquals(round.run(cluster(8), queue, 0, unlimited).placed.map(_.flare), Vector(two))

  property("every placement is whole, nothing is oversubscribed, and nobody waits for ever"):
    val flares = Gen.listOf(Gen.zip(Gen.oneOf("A", "B", "C"), Gen.choose(1, 12)))
    forAll(flares) { wanted =>
      var now = 0L
      var state = ClusterState.empty.up(a, 8).up(InvokerId("b"), 4)
      var queue = wanted.foldLeft(FlareQueue.empty)((q, w) => q.enqueue(waiting(w._1, w._2)))
      var running = Vector.empty[Waiting]
      var rounds = 0
      while queue.length > 0 && rounds < 1000 do
        val outcome = round.run(state, queue, now, unlimited)
        state = outcome.cluster
        queue = outcome.queue
        running ++= outcome.placed.map(_.flare)
        assert(state.machines.values.forall(m => m.used <= m.slots))
        assert(outcome.placed.forall(p => p.plan.size == p.flare.size))
        running.headOption.foreach(done => state = state.releaseAll(done.owner))
        running = running.drop(1)
        now += second
        rounds += 1
      assertEquals(queue.length, 0)
      Prop.passed
    }
