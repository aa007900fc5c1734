package burst.controller.scheduler

import burst.controller.placement.{
  ClusterView,
  DefaultGranularity,
  PackCosts,
  Packing,
  PlacementPolicy,
  Plan,
  Share
}
import burst.node.MonotonicTime
import burst.protocol.{ClusterRoom, FlareId, InvokerId, NodeRoom}
import munit.ScalaCheckSuite
import org.scalacheck.Prop.*
import org.scalacheck.{Gen, Prop}
import scala.concurrent.duration.{Duration, DurationInt}

class SchedulingRoundSuite extends ScalaCheckSuite:
  private val start = MonotonicTime.Zero
  private val round =
    SchedulingRound(
      Packing.policies(DefaultGranularity.Cheapest(PackCosts.Measured)),
      overtaking = 10.seconds,
      depth = 100
    )
  private val (a, b) = (InvokerId("a"), InvokerId("b"))
  private val unlimited: String => Int = _ => Int.MaxValue
  private val nothingKnown = WalltimePredictor.empty(grace = Duration.Zero)

  /** Walltimes learned from definitions that are named after the seconds their flares take; all time out at
    * 60 s.
    */
  private val known =
    val definitions = for tenant <- Vector("A", "B", "C", "D"); takes <- 1 to 30 yield (tenant, takes)
    definitions.foldLeft(nothingKnown) { case (known, (tenant, takes)) =>
      known.learn(Samples.walltime.copy(definition(tenant, s"$takes")), start + takes.seconds)
    }

  private def definition(tenant: String, name: String) =
    Samples.request(1, tenant).definition.copy(name = name)

  private def waiting(tenant: String, size: Int, since: Int = 0, takes: Int = 60, timeout: Int = 60) =
    val request = Samples.request(size, tenant, timeout = timeout.seconds)
    Waiting(
      FlareId.random(),
      1,
      request.copy(definition = definition(tenant, s"$takes")),
      start + since.seconds
    )

  private def queueOf(flares: Waiting*) = flares.foldLeft(FlareQueue.empty)(_.enqueue(_))

  /** The walltime of somebody else's flare that ends this many seconds after the start. */
  private def other(until: Int) =
    val end = start + until.seconds
    Walltime(definition("other", "any"), since = start, expected = end, latest = end)

  /** Machine a, with some slots held by others until the given seconds after the start. */
  private def cluster(slots: Int, lent: (Int, Int)*) =
    lent.foldLeft(ClusterState.empty.up(a, slots)) { case (state, (taken, until)) =>
      val walltime = other(until)
      state
        .reserve(AttemptId(FlareId.random(), 1), "other", Plan.of(Vector(a -> taken), 1), walltime)
        .get
    }

  private def run(cluster: ClusterState, now: Int, flares: Waiting*): Vector[Waiting] =
    round.run(cluster, queueOf(flares*), start + now.seconds, unlimited, known).placed.map(_.flare)

  /** Serves the queue on a cluster that runs one flare at a time; returns the tenants in order. */
  private def order(queue: FlareQueue, slots: Int): Vector[String] =
    Iterator
      .unfold(queue) { rest =>
        rest.order.nextOption().map { head =>
          val lent = if slots == head.size then Vector.empty else Vector((slots - head.size, 60))
          val outcome = round.run(cluster(slots, lent*), rest, start, unlimited, nothingKnown)
          (outcome.placed.head.flare.tenant, outcome.queue)
        }
      }
      .toVector

  test("a flare that overtakes one waiting for a node's memory leaves that memory to it"):
    val room = ClusterRoom(Vector(NodeRoom("x", slots = 8, memory = 1000)), packMemory = 64, most = 8)
    val running = Plan.ofShares(Vector(Share(a, 4, 0, Some("x"))), 4)
    val soon = other(5)
    val cluster = ClusterState.empty
      .up(a, 8, Some(room))
      .reserve(AttemptId(FlareId.random(), 1), "other", running, soon, memory = 100)
      .get
    def of(memory: Int, flare: Waiting) =
      flare.copy(request = flare.request.copy(terms = flare.request.terms.copy(memory = memory)))
    val first = of(400, waiting("A", 2))
    val large = of(100, waiting("B", 2))
    val small = of(64, waiting("C", 1))
    val short = of(100, waiting("D", 2, takes = 4))
    assertEquals(run(cluster, 0, first, large, small, short), Vector(small, short))

  test("a namespace with many flares does not delay another"):
    val flares = Vector.fill(6)(waiting("A", 8)) ++ Vector.fill(2)(waiting("B", 8))
    assertEquals(order(queueOf(flares*), 8).mkString, "ABABAAAA")

  test("shares are counted in slots, not in flares"):
    val flares = Vector.fill(4)(waiting("A", 2)) :+ waiting("B", 8, 1) :+ waiting("B", 8, 2)
    assertEquals(order(queueOf(flares*), 8).mkString, "ABAAAB")

  test("the displayed order is the order of service"):
    val flares = Vector.fill(4)(waiting("A", 2)) :+ waiting("B", 8, 1) :+ waiting("B", 8, 2)
    assertEquals(queueOf(flares*).order.map(_.tenant).mkString, "ABAAAB")

  test("idling earns no credit, and asking one at a time loses none"):
    var queue = queueOf(Vector.fill(4)(waiting("A", 8))*)
    for _ <- 1 to 2 do queue = round.run(cluster(8), queue, start, unlimited, nothingKnown).queue
    queue = Vector.fill(3)(waiting("B", 8)).foldLeft(queue)(_.enqueue(_))
    assertEquals(order(queue, 8).mkString, "BABAB")

  test("the worked example: flares that end in time overtake, others wait"):
    val large = waiting("A", 8)
    val (quick, slow, short) = (waiting("B", 2, 1, 3), waiting("C", 2, 2), waiting("D", 2, 3, 4))
    assertEquals(run(cluster(8, (4, 5)), 0, large, quick, slow, short), Vector(quick, short))
    assertEquals(run(cluster(10, (4, 5)), 0, large, quick, slow, short), Vector(quick, slow, short))

  test("each spare slot is given to only one flare"):
    val (large, one, two) = (waiting("A", 8), waiting("B", 2, 1), waiting("C", 2, 2))
    assertEquals(run(cluster(10, (4, 5)), 0, large, one, two), Vector(one))

  test("the same rules apply within a namespace"):
    val (large, quick, slow) = (waiting("A", 8), waiting("A", 2, 1, 3), waiting("A", 2, 2))
    assertEquals(run(cluster(8, (4, 5)), 0, large, quick, slow), Vector(quick))

  test("the machines a waiting flare will take are left alone, and others are used"):
    val walltime = other(5)
    val two = ClusterState.empty
      .up(a, 8)
      .up(b, 4)
      .reserve(AttemptId(FlareId.random(), 1), "other", Plan.of(Vector(a -> 4), 4), walltime)
      .get
    val large = waiting("A", 8)
    val pack = large.copy(request =
      large.request.copy(terms = large.request.terms.copy(granularity = Some(8)))
    )
    val outcome =
      round.run(two, queueOf(pack, waiting("B", 4, 1), waiting("C", 4, 2)), start, unlimited, known)
    assertEquals(
      outcome.placed.map(p => (p.flare.tenant, p.plan.packs.map(_.invoker))),
      Vector(("B", Vector(b)))
    )

  test("estimates allow overtaking at first, and only time-outs do once a flare has waited long"):
    val (large, quick) = (waiting("A", 8), waiting("B", 2, 1, 3))
    val sure = waiting("C", 2, 2, timeout = 2)
    assertEquals(run(cluster(8, (4, 14)), 9, large, quick, sure), Vector(quick, sure))
    assertEquals(run(cluster(8, (4, 14)), 10, large, quick, sure), Vector(sure))
    assertEquals(run(cluster(8), 11, large, quick, sure), Vector(large))

  test("slots that are overdue are expected at any moment"):
    val (large, small) = (waiting("A", 8), waiting("B", 2, 1, 1))
    assertEquals(run(cluster(8, (4, 5)), 6, large, small), Vector.empty)

  test("a flare larger than the running cluster holds up no other, however long it waits"):
    val (large, small) = (waiting("A", 80), waiting("A", 2, 1))
    assertEquals(run(cluster(8), 100, large, small), Vector(small))

  test("a namespace's slot limit holds up only that namespace"):
    val flares = Vector(waiting("A", 4), waiting("A", 4), waiting("A", 1), waiting("B", 4))
    val outcome =
      round.run(cluster(16), queueOf(flares*), start + 100.seconds, t => if t == "A" then 6 else 16, known)
    assertEquals(outcome.placed.map(_.flare), Vector(flares(0), flares(3)))

  /** A queue in which 500 flares of A came first and have had nothing, C has had much since, and B comes
    * last: all of A's flares stand before B's.
    */
  private def behindHundreds(ofA: Int): FlareQueue =
    val (many, served) = (Vector.fill(500)(waiting("A", ofA)), Vector.fill(100)(waiting("C", 1000)))
    val busy = queueOf(many ++ served*)
    served.foldLeft(busy)(_.served(_)).enqueue(waiting("B", 1, since = 9, takes = 1))

  test("hundreds of flares of a namespace at its slot limit do not hide another's"):
    val limit = (tenant: String) => if tenant == "A" then 0 else 16
    val placed = round.run(cluster(16), behindHundreds(1), start, limit, known).placed
    assertEquals(placed.map(_.flare.tenant), Vector("B"))

  test("hundreds of flares that do not fit do not hide another's, and cost a limited number of tries"):
    var looks = 0
    val all = Packing.policies(DefaultGranularity.Cheapest(PackCosts.Measured))
    val counting = all.transform { (_, policy) =>
      new PlacementPolicy:
        def place(cluster: ClusterView, size: Int, granularity: Option[Int]) =
          looks += 1
          policy.place(cluster, size, granularity)
    }
    val round = SchedulingRound(counting, overtaking = 10.seconds, depth = 100)
    val placed = round.run(cluster(16, 12 -> 5), behindHundreds(8), start, unlimited, known).placed
    assertEquals(placed.map(_.flare.tenant), Vector("B"))
    assert(looks <= 110, s"$looks looks")

  test("a flare that leaves the queue is not placed"):
    val (one, two) = (waiting("A", 4), waiting("A", 4))
    val queue = queueOf(one, two).remove(one.id, one.tenant)
    assertEquals(queue.length, 1)
    assertEquals(round.run(cluster(8), queue, start, unlimited, known).placed.map(_.flare), Vector(two))

  /** A generated flare: when it arrives, its workers, the time-out it claims and the time it takes. */
  private final case class Arrival(at: Int, tenant: String, size: Int, timeout: Int, takes: Int)
  private val arrivals: Gen[List[Arrival]] = Gen.listOf(
    for
      at <- Gen.choose(0, 40)
      tenant <- Gen.oneOf("A", "B", "C")
      size <- Gen.frequency(4 -> Gen.choose(1, 3), 1 -> Gen.choose(4, 12))
      timeout <- Gen.choose(1, 20)
      takes <- Gen.choose(1, timeout)
    yield Arrival(at, tenant, size, timeout, takes)
  )

  /** Plays arrivals on two machines, second by second, until `done`; each flare ends after its own time,
    * which is at most its time-out. Asserts at every moment that plans are whole and nothing is
    * oversubscribed. Returns when each flare started.
    */
  private def play(flares: Vector[(Waiting, Int)])(done: Map[FlareId, MonotonicTime] => Boolean)
      : Map[FlareId, MonotonicTime] =
    val coming = flares.map(_._1).groupBy(_.since)
    val takes = flares.map((flare, seconds) => flare.id -> seconds.seconds).toMap
    var state = ClusterState.empty.up(a, 8).up(b, 4)
    var queue = FlareQueue.empty
    var learned = nothingKnown
    var running = Vector.empty[(Waiting, Walltime)]
    var starts = Map.empty[FlareId, MonotonicTime]
    var now = start
    while !done(starts) && now < start + 5000.seconds do
      val (ended, going) = running.partition((flare, walltime) => walltime.since + takes(flare.id) <= now)
      ended.foreach { (flare, walltime) =>
        state = state.releaseAll(flare.attemptId)
        learned = learned.learn(walltime, now)
      }
      queue = coming.getOrElse(now, Vector.empty).foldLeft(queue)(_.enqueue(_))
      val outcome = round.run(state, queue, now, unlimited, learned)
      running = going ++ outcome.placed.map(p => (p.flare, learned.walltime(p.flare.request, now)))
      starts ++= outcome.placed.map(_.flare.id -> now)
      outcome.placed.foreach(p => assertEquals(p.plan.size, p.flare.size))
      state = outcome.cluster
      queue = outcome.queue
      assert(state.machines.values.forall(m => m.used >= 0 && m.used <= m.slots))
      assertEquals(state.machines.values.map(_.used).sum, running.map(_._1.size).sum)
      now += 1.second
    starts

  property("every placement is complete, nothing is oversubscribed, and no flare waits forever"):
    forAll(arrivals) { wanted =>
      val flares = wanted.toVector.map(w =>
        (waiting(w.tenant, w.size, w.at, takes = w.size, timeout = w.timeout), w.takes)
      )
      assertEquals(play(flares)(_.size == flares.size).size, flares.size)
      Prop.passed
    }

  property("a large flare starts in bounded time under an endless stream of small ones"):
    forAll(Gen.choose(5, 12), Gen.choose(1, 4), Gen.choose(1, 10), Gen.oneOf("A", "B")) {
      (large, small, timeout, tenant) =>
        // twice what the cluster can serve while the large flare may wait; all flares use up their time-outs
        val wanted = waiting(tenant, large, 3, takes = 30, timeout = 5)
        val before = if tenant == "A" then 4 * (24 / timeout).max(1) / 8 + 1 else 1
        val bound = 3 + 10 + (before + 3) * timeout
        val stream =
          for
            at <- 0 to bound
            _ <- 0 until (24 / small / timeout).max(1)
          yield (waiting("A", small, at, takes = small, timeout = timeout), timeout)
        val started = play(stream.toVector :+ (wanted, 5))(starts =>
          starts.contains(wanted.id) || starts.size > stream.size
        )
        assert(started.get(wanted.id).exists(_ <= start + bound.seconds), s"${started.get(wanted.id)}")
        Prop.passed
    }
