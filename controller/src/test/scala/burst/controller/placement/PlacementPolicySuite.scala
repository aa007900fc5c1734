package burst.controller.placement

import burst.controller.scheduler.{AttemptId, ClusterState, Samples}
import burst.protocol.InvokerId
import munit.ScalaCheckSuite
import org.scalacheck.Prop.*
import org.scalacheck.{Gen, Prop}
import scala.concurrent.duration.DurationInt

class PlacementPolicySuite extends ScalaCheckSuite:
  import DefaultGranularity.*
  private val cheapest = Cheapest(PackCosts.Measured)

  private def cluster(free: (String, Int)*): ClusterView =
    ClusterView(free.map((id, slots) => Machine(InvokerId(id), slots, slots)).toVector)

  private def shown(result: Either[NoPlacement, Plan]): String = result match
    case Right(plan) => plan.packs.map(p => s"${p.invoker.value}:${p.size}").mkString(" ")
    case Left(NoPlacement.NotNow(free)) => s"not now, $free free"
    case Left(NoPlacement.Never(total, usable, largest, _)) => s"never, $usable of $total, at most $largest"

  private val mixed = Mixed(cheapest)
  private val homogeneous = Homogeneous(cheapest)

  private val abc = cluster("a" -> 8, "b" -> 6, "c" -> 4)

  private val table: Vector[(String, PlacementPolicy, ClusterView, Int, Option[Int], String)] = Vector(
    ("one machine that is tight", mixed, abc, 4, Some(1), "c:4"),
    ("the largest, then the tightest for the rest", mixed, abc, 11, Some(1), "a:8 c:3"),
    ("the short unit where it fits best", mixed, abc, 10, Some(4), "a:8 c:2"),
    ("the short unit in a leftover", mixed, cluster("a" -> 10, "b" -> 8), 10, Some(4), "a:10"),
    ("units do not span machines", mixed, cluster("a" -> 7, "b" -> 7), 8, Some(4), "a:4 b:4"),
    ("units that do not fit", mixed, cluster("a" -> 7, "b" -> 7), 12, Some(4), "never, 8 of 14, at most 7"),
    ("granularity above the size", mixed, abc, 4, Some(100), "c:4"),
    ("granularity above every machine", mixed, abc, 10, Some(10), "never, 0 of 18, at most 8"),
    ("no granularity: as large as possible", mixed, abc, 11, None, "a:8 c:3"),
    ("the platform's granularity", Mixed(Fixed(4)), abc, 12, None, "a:8 c:4"),
    ("the platform's granularity is never too large", Mixed(Fixed(100)), abc, 9, None, "a:8 c:1"),
    ("the whole cluster", mixed, abc, 18, None, "a:8 b:6 c:4"),
    ("more than the cluster", mixed, abc, 19, None, "never, 18 of 18, at most 8"),
    ("containers of exactly g", homogeneous, abc, 8, Some(2), "a:2 a:2 a:2 a:2"),
    ("the last pack is the rest", homogeneous, abc, 10, Some(4), "a:4 a:4 c:2"),
    (
      "the small pack is last wherever it is",
      homogeneous,
      cluster("a" -> 6, "b" -> 5),
      10,
      Some(4),
      "a:4 b:4 a:2"
    ),
    ("plain functions", homogeneous, cluster("a" -> 2, "b" -> 1), 3, Some(1), "a:1 a:1 b:1"),
    ("the largest even packs", homogeneous, cluster("a" -> 7, "b" -> 5), 10, None, "a:5 b:5"),
    ("uneven where even does not fit", homogeneous, cluster("a" -> 7, "b" -> 3), 10, None, "a:7 b:3"),
    ("whole machines are spared", homogeneous, cluster("a" -> 10, "b" -> 9, "c" -> 1), 11, None, "a:10 c:1"),
    ("one pack if it fits", homogeneous, abc, 5, None, "b:5"),
    ("the largest pack per machine", Heterogeneous, abc, 15, Some(2), "a:8 b:6 c:1"),
    ("an empty cluster", mixed, cluster(), 1, None, "never, 0 of 0, at most 0")
  )

  for (name, policy, view, size, granularity, expected) <- table do
    test(s"${policy.getClass.getSimpleName.stripSuffix("$")}: $name"):
      assertEquals(shown(policy.place(view, size, granularity)), expected)

  test("a machine with a warm pack is preferred, unless that takes more machines"):
    val wanted = burst.protocol.WarmPack(Samples.request(1).definition, 64)
    def warm(free: (String, Int)*)(ids: String*) =
      val machines = cluster(free*).machines.map(m =>
        m.copy(packs = if ids.contains(m.id.value) then Set(wanted) else Set.empty)
      )
      ClusterView(machines).warmFor(wanted)
    val b = warm("a" -> 8, "b" -> 6, "c" -> 4)("b")
    assertEquals(shown(mixed.place(b, 4, Some(1))), "b:4")
    assertEquals(shown(mixed.place(b, 11, Some(1))), "a:8 b:3")
    assertEquals(shown(mixed.place(b, 8, None)), "a:8")
    assertEquals(shown(mixed.place(warm("a" -> 8, "b" -> 8, "c" -> 8)("b", "c"), 6, None)), "b:6")
    assertEquals(shown(mixed.place(abc.warmFor(wanted), 4, None)), "c:4")

  test("the cost of packs"):
    val view = cluster("a" -> 8, "b" -> 6)
    def cost(g: Int, size: Int) =
      PackCosts(
        start = 100.micros,
        leftover = 5.micros
      ).of(UnitAllocation.allocate(view.machines, size, g).get, g)
    assertEquals(Vector(cost(4, 8), cost(8, 8), cost(2, 14), cost(5, 10)), Vector(200L, 100L, 400L, 120L))

  test("slots in use are not offered, and do not make a placement impossible"):
    val busy = ClusterView(Vector(Machine(InvokerId("a"), 8, 2), Machine(InvokerId("b"), 4, 4)))
    assertEquals(shown(mixed.place(busy, 7, None)), "not now, 6 free")
    assertEquals(shown(mixed.place(busy, 5, None)), "b:4 a:1")
    assertEquals(shown(homogeneous.place(busy, 8, Some(8))), "not now, 6 free")

  test("the example in the policies' table"):
    val view = cluster("a" -> 9, "b" -> 3, "c" -> 2)
    assertEquals(shown(homogeneous.place(view, 10, Some(4))), "a:4 a:4 c:2")
    assertEquals(shown(mixed.place(view, 10, Some(4))), "a:8 c:2")
    assertEquals(shown(Heterogeneous.place(view, 10, Some(4))), "a:9 c:1")

  private val views: Gen[ClusterView] =
    for
      count <- Gen.choose(0, 6)
      machines <- Gen.listOfN(count, Gen.choose(1, 12).flatMap(s => Gen.choose(0, s).map(free => (s, free))))
    yield ClusterView(machines.zipWithIndex.map { case ((slots, free), i) =>
      Machine(InvokerId(s"i$i"), slots, free)
    }.toVector)

  private val policies = Gen.oneOf(mixed, homogeneous, Heterogeneous, Mixed(Fixed(3)), Homogeneous(Fixed(3)))

  property("a plan covers every worker once, in order, within the free slots"):
    forAll(views, policies, Gen.choose(1, 40), Gen.option(Gen.choose(1, 14))) { (view, policy, size, g) =>
      policy.place(view, size, g) match
        case Right(plan) =>
          assertEquals(plan.packs.flatMap(_.workers), (0 until size).toVector)
          assertEquals(plan.packs.map(_.pack), plan.packs.indices.toVector)
          assert(plan.packs.forall(_.size > 0))
          val free = view.machines.map(m => m.id -> m.free).toMap
          assert(plan.demand.forall((id, slots) => slots <= free(id)))
        case Left(NoPlacement.NotNow(free)) =>
          assertEquals(free, view.freeSlots)
          assert(policy.place(view.emptied, size, g).isRight)
        case Left(NoPlacement.Never(total, usable, _, _)) =>
          assertEquals(total, view.totalSlots)
          assert(usable < size)
      Prop.passed
    }

  property("a flare that fits is placed: one worker per unit needs only enough free slots"):
    forAll(views, Gen.choose(1, 40)) { (view, size) =>
      Prop(mixed.place(view, size, Some(1)).isRight == (view.freeSlots >= size)) &&
      Prop(Heterogeneous.place(view, size, None).isRight == (view.freeSlots >= size)) &&
      Prop(homogeneous.place(view, size, None).isRight == (view.freeSlots >= size))
    }

  property("no other choice of machines needs fewer packs"):
    forAll(views, Gen.choose(1, 30), Gen.choose(1, 6)) { (view, size, g) =>
      val unit = g.min(size)
      def holds(machines: Vector[Machine]): Boolean =
        val units = machines.map(_.free / unit).sum
        val (whole, rest) = (size / unit, size % unit)
        units > whole || (units == whole && (rest == 0 || machines.exists(_.free % unit >= rest)))
      val fewest =
        (0 to view.machines.length).find(k => view.machines.combinations(k).exists(holds))
      assertEquals(mixed.place(view, size, Some(g)).toOption.map(_.packs.length), fewest)
    }

  test("48,000 workers on 1,000 machines of 48 slots (time printed, not asserted)"):
    val view = ClusterView(Vector.tabulate(1000)(i => Machine(InvokerId(f"i$i%04d"), 48, 48)))
    for (policy, g) <- Vector((mixed, None), (mixed, Some(48)), (homogeneous, None), (homogeneous, Some(1)))
    do
      val times = Vector.fill(20) {
        val begin = System.nanoTime()
        assertEquals(policy.place(view, 48000, g).map(_.size), Right(48000))
        (System.nanoTime() - begin) / 1000
      }.sorted
      println(
        s"placing 48000 workers, ${policy.getClass.getSimpleName} g=$g: median ${times(10)} µs, worst ${times.last} µs"
      )
    val state = (0 until 1000).foldLeft(ClusterState.empty)((s, i) => s.up(InvokerId(f"i$i%04d"), 48))
    val plan = homogeneous.place(state.view, 48000, Some(1)).toOption.get
    val begin = System.nanoTime()
    val reserved =
      state.reserve(AttemptId(burst.protocol.FlareId.random(), 1), "t", plan, Samples.walltime)
    println(s"reserving them: ${(System.nanoTime() - begin) / 1000} µs")
    assertEquals(reserved.map(_.view.freeSlots), Some(0))
