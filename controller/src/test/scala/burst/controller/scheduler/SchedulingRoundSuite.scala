package burst.controller.scheduler

import burst.controller.placement.{ClusterView, DefaultGranularity, PackCosts, PlacementPolicy, Plan, Share}
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
      PlacementPolicy.all(DefaultGranularity.Cheapest(PackCosts.Measured)),
      overtaking = 10.seconds,
      depth = 100
    )
  private val (a, b) = (InvokerId("a"), InvokerId("b"))
  private val unlimited: String => Int = _ => Int.MaxValue
  private val nothingKnown = WalltimePredictor.empty(grace = Duration.Zero)

  /** Each definition is named after how many seconds its flares are expected to take; all time out at 60 s.
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

  /** Of somebody's who is gone some seconds from 0. */
  private def other(until: Int) =
    val end = start + until.seconds
    Walltime(definition("other", "any"), since = start, expected = end, latest = end)

  /** Machine a, some of its slots lent to others until some seconds from 0. */
  private def cluster(slots: Int, lent: (Int, Int)*) =
    lent.foldLeft(ClusterState.empty.up(a, slots)) { case (state, (taken, until)) =>
      val walltime = other(until)
      state
        .reserve(AttemptId(FlareId.random(), 1), "other", Plan.of(Vector(a -> taken), 1), walltime)
        .get
    }

  private def run(cluster: ClusterState, now: Int, flares: Waiting*): Vector[Waiting] =
    round.run(cluster, queueOf(flares*), start + now.seconds, unlimited, known).placed.map(_.flare)

  /** Serves the queue on a cluster that takes one flare at a time; the tenants in their order. */
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

  test("a flare that passes one that waits for a node's memory leaves that to it"):
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

  test("a namespace with many flares does not hold up another"):
    val flares = Vector.fill(6)(waiting("A", 8)) ++ Vector.fill(2)(waiting("B", 8))
    assertEquals(order(queueOf(flares*), 8).mkString, "ABABAAAA")

  test("shares are counted in slots, not in flares"):
    val flares = Vector.fill(4)(waiting("A", 2)) :+ waiting("B", 8, 1) :+ waiting("B", 8, 2)
    assertEquals(order(queueOf(flares*), 8).mkString, "ABAAAB")

  test("the order shown is the order served"):
    val flares = Vector.fill(4)(waiting("A", 2)) :+ waiting("B", 8, 1) :+ waiting("B", 8, 2)
    assertEquals(queueOf(flares*).order.map(_.tenant).mkString, "ABAAAB")

  test("idling earns no credit, asking one at a time loses none"):
    var queue = queueOf(Vector.fill(4)(waiting("A", 8))*)
    for _ <- 1 to 2 do queue = round.run(cluster(8), queue, start, unlimited, nothingKnown).queue
    queue = Vector.fill(3)(waiting("B", 8)).foldLeft(queue)(_.enqueue(_))
    assertEquals(order(queue, 8).mkString, "BABAB")

  test("the worked example: who is done in time passes, who is not waits"):
    val large = waiting("A", 8)
    val (quick, slow, short) = (waiting("B", 2, 1, 3), waiting("C", 2, 2), waiting("D", 2, 3, 4))
    assertEquals(run(cluster(8, (4, 5)), 0, large, quick, slow, short), Vector(quick, short))
    assertEquals(run(cluster(10, (4, 5)), 0, large, quick, slow, short), Vector(quick, slow, short))

  test("of what is left over each slot is given once"):
    val (large, one, two) = (waiting("A", 8), waiting("B", 2, 1), waiting("C", 2, 2))
    assertEquals(run(cluster(10, (4, 5)), 0, large, one, two), Vector(one))

  test("the same holds within a namespace"):
    val (large, quick, slow) = (waiting("A", 8), waiting("A", 2, 1, 3), waiting("A", 2, 2))
    assertEquals(run(cluster(8, (4, 5)), 0, large, quick, slow), Vector(quick))

  test("the machines a waiting flare will take are left alone, others are not"):
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

  test("a guess lets pass at first, only a time-out once the flare has waited for long"):
    val (large, quick) = (waiting("A", 8), waiting("B", 2, 1, 3))
    val sure = waiting("C", 2, 2, timeout = 2)
    assertEquals(run(cluster(8, (4, 14)), 9, large, quick, sure), Vector(quick, sure))
    assertEquals(run(cluster(8, (4, 14)), 10, large, quick, sure), Vector(sure))
    assertEquals(run(cluster(8), 11, large, quick, sure), Vector(large))

  test("slots that ought to be back are taken to come at any moment"):
    val (large, small) = (waiting("A", 8), waiting("B", 2, 1, 1))
    assertEquals(run(cluster(8, (4, 5)), 6, large, small), Vector.empty)

  test("one that is larger than what is up holds up nobody, however long it waits"):
    val (large, small) = (waiting("A", 80), waiting("A", 2, 1))
    assertEquals(run(cluster(8), 100, large, small), Vector(small))

  test("a namespace's slot limit holds up only itself"):
    val flares = Vector(waiting("A", 4), waiting("A", 4), waiting("A", 1), waiting("B", 4))
    val outcome =
      round.run(cluster(16), queueOf(flares*), start + 100.seconds, t => if t == "A" then 6 else 16, known)
    assertEquals(outcome.placed.map(_.flare), Vector(flares(0), flares(3)))

  /** A came first and has had nothing yet, others had much since, and then B comes: A's hundreds stand before
    * it.
    */
  private def behindHundreds(ofA: Int): FlareQueue =
    val (many, served) = (Vector.fill(500)(waiting("A", ofA)), Vector.fill(100)(waiting("C", 1000)))
    val busy = queueOf(many ++ served*)
    served.foldLeft(busy)(_.served(_)).enqueue(waiting("B", 1, since = 9, takes = 1))

  test("hundreds of flares of a namespace at its slot limit do not hide another's"):
    val limit = (tenant: String) => if tenant == "A" then 0 else 16
    val placed = round.run(cluster(16), behindHundreds(1), start, limit, known).placed
    assertEquals(placed.map(_.flare.tenant), Vector("B"))

  test("hundreds of flares that do not fit do not hide another's, and cost a bounded number of looks"):
    var looks = 0
    val all = PlacementPolicy.all(DefaultGranularity.Cheapest(PackCosts.Measured))
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

  /** A flare as a property makes it up: when it comes, for how many workers, how long it says and takes. */
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

  /** Plays arrivals on two machines second by second until `done`; whatever has a time-out has ended by then.
    * Asserts at every moment that plans are whole and nothing is oversubscribed. Answers who started when.
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

  property("every placement is whole, nothing is oversubscribed, and nobody waits for ever"):
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
        // twice what the cluster could serve, for as long as the large one may wait; all use up their time-outs
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
