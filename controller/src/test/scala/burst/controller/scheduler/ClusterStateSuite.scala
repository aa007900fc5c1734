package burst.controller.scheduler

import burst.controller.placement.{ClusterView, DefaultGranularity, Homogeneous, Machine, PackCosts, Plan}
import burst.protocol.{FlareId, InvokerId, PackId}
import munit.ScalaCheckSuite
import org.scalacheck.Prop.*
import org.scalacheck.{Gen, Prop}

class ClusterStateSuite extends ScalaCheckSuite:
  private val (a, b) = (InvokerId("a"), InvokerId("b"))
  private val attempts =
    Vector.fill(4)(FlareId.random()).flatMap(id => Vector(AttemptId(id, 1), AttemptId(id, 2)))
  private val start = ClusterState.empty.up(a, 8).up(b, 4)

  private def free(state: ClusterState) = state.view.machines.map(m => m.id.value -> m.free).toMap

  test("a plan is reserved whole or not at all"):
    val taken = start.reserve(attempts(0), "n", Plan.of(Vector(a -> 8, b -> 2), 8), Samples.walltime).get
    assertEquals(free(taken), Map("a" -> 0, "b" -> 2))
    assertEquals(taken.used("n"), 10)
    assertEquals(taken.reserve(attempts(1), "n", Plan.of(Vector(b -> 2, a -> 1), 2), Samples.walltime), None)
    assertEquals(
      taken.reserve(attempts(0), "n", Plan.of(Vector(b -> 1), 1), Samples.walltime),
      None,
      "one holding per attempt"
    )

  test("slots come back only once"):
    val taken = start.reserve(attempts(0), "n", Plan.of(Vector(a -> 8, b -> 2), 8), Samples.walltime).get
    val once = taken.release(attempts(0), Vector(PackId(0)))
    assertEquals(free(once), Map("a" -> 8, "b" -> 2))
    assertEquals(once.release(attempts(0), Vector(0, 0, 7, -1).map(PackId(_))), once)
    val all = once.releaseAll(attempts(0))
    assertEquals(free(all), Map("a" -> 8, "b" -> 4))
    assertEquals(all.used("n"), 0)
    assertEquals(all.release(attempts(0), Vector(PackId(1))), all)

  test("a pack gives back the slots of its ended workers, and the rest at its end"):
    val taken = start.reserve(attempts(0), "n", Plan.of(Vector(a -> 8, b -> 2), 8), Samples.walltime).get
    val some = taken.shrink(attempts(0), Vector(PackId(0) -> 3))
    assertEquals((free(some), some.used("n")), (Map("a" -> 5, "b" -> 2), 5))
    assertEquals(
      some.shrink(attempts(0), Vector(PackId(0) -> 3, PackId(0) -> 6, PackId(9) -> 0)),
      some,
      "repeated or late reports"
    )
    val none = some.shrink(attempts(0), Vector(PackId(0) -> 0, PackId(1) -> -1))
    assertEquals((free(none), none.holds(attempts(0))), (Map("a" -> 8, "b" -> 4), false))

  test("a sharer holds nothing until its container's slot passes to it"):
    val plan = Plan.of(Vector(b -> 1), 1)
    val made = start.reserve(attempts(0), "n", plan, Samples.walltime, memory = 64).get
    val both = made.join(attempts(1), "n", plan, Samples.walltime)
    assertEquals((free(both), both.used("n")), (free(made), 1))
    assertEquals(both.packsOn(b).map(_._1).toSet, attempts.take(2).toSet)
    assertEquals(both.releaseAll(attempts(1)), made, "a mere sharer leaves nothing behind")
    val passed = both.pass(attempts(0), attempts(1))
    val left = passed.releaseAll(attempts(0))
    assertEquals((free(left), left.used("n")), (free(made), 1))
    assertEquals(passed.pass(attempts(0), attempts(1)), passed, "a slot passes only once")
    assertEquals(left.releaseAll(attempts(1)), start)

  test("an overloaded machine offers nothing until its load drops"):
    val busy = start.report(a, overloaded = true, Set.empty, shares = false)
    assertEquals(free(busy), Map("a" -> 0, "b" -> 4))
    assertEquals(busy.view.totalSlots, 12, "the machine still counts")
    assertEquals(busy.report(a, overloaded = false, Set.empty, shares = false), start)

  test("a machine that is down offers nothing and keeps what is held on it"):
    val taken = start.reserve(attempts(0), "n", Plan.of(Vector(a -> 3), 3), Samples.walltime).get.down(a)
    assertEquals(taken.view.machines.map(_.id), Vector(b))
    assertEquals(free(taken.up(a, 8)), Map("a" -> 5, "b" -> 4))
    assertEquals(free(taken.up(a, 2)), Map("a" -> 0, "b" -> 4))
    assertEquals(free(taken.up(a, 2).releaseAll(attempts(0))), Map("a" -> 2, "b" -> 4))
    assertEquals(taken.forget(a), taken)
    assertEquals(taken.releaseAll(attempts(0)).forget(a).machines.keySet, Set(b))
    assertEquals(start.forget(a), start)

  private enum Move:
    case Reserve(attempt: AttemptId, size: Int, g: Int)
    case Release(attempt: AttemptId, packs: List[PackId])
    case Shrink(attempt: AttemptId, pack: PackId, left: Int)
    case Down(id: InvokerId)
    case Up(id: InvokerId)

  private val packs: Gen[PackId] = Gen.choose(-1, 5).map(PackId(_))

  private val moves: Gen[List[Move]] = Gen.listOf(
    Gen.oneOf(
      Gen.oneOf(attempts).flatMap(o =>
        Gen.choose(1, 14).flatMap(n => Gen.choose(1, 4).map(Move.Reserve(o, n, _)))
      ),
      Gen.oneOf(attempts).flatMap(o => Gen.listOf(packs).map(Move.Release(o, _))),
      Gen.oneOf(attempts).flatMap(o =>
        packs.flatMap(p => Gen.choose(-1, 5).map(Move.Shrink(o, p, _)))
      ),
      Gen.oneOf(a, b).map(Move.Down(_)),
      Gen.oneOf(a, b).map(Move.Up(_))
    )
  )

  property("whatever happens, nothing is oversubscribed and totals add up"):
    forAll(moves) { sequence =>
      sequence.foldLeft(start) { (state, move) =>
        val next = move match
          case Move.Reserve(attempt, n, g) =>
            // a plan made for the empty cluster: the state must refuse it if it does not fit
            val view = ClusterView(Vector(Machine(a, 8, 8), Machine(b, 4, 4)))
            Homogeneous(DefaultGranularity.Cheapest(PackCosts.Measured))
              .place(view, n, Some(g))
              .toOption
              .flatMap(state.reserve(attempt, attempt.flare.value.take(1), _, Samples.walltime))
              .getOrElse(state)
          case Move.Release(attempt, packs) => state.release(attempt, packs)
          case Move.Shrink(attempt, pack, left) => state.shrink(attempt, Vector(pack -> left))
          case Move.Down(id) => state.down(id)
          case Move.Up(id) => state.up(id, if id == a then 8 else 4)
        next.machines.foreach { (id, capacity) =>
          val held = next.holdings.values.map(h =>
            h.plan.packs.filter(_.invoker == id).map(p => h.held(p.pack)).sum
          ).sum
          assertEquals(capacity.used, held)
          assert(capacity.used >= 0 && capacity.used <= capacity.slots)
        }
        assertEquals(
          next.viewAfter(next.holdings.valuesIterator.map(_.taken)),
          next.view.emptied,
          "only lent slots are missing"
        )
        assertEquals(next.usedBy.values.sum, next.machines.values.map(_.used).sum)
        assert(next.holdings.values.forall(_.total > 0))
        next
      }
      Prop.passed
    }
