package burst.invoker.packages

import burst.protocol.PackageId
import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll

class CacheIndexSuite extends ScalaCheckSuite:
  private def id(n: Int): PackageId = PackageId.of(Array(n.toByte))

  test("the least recently used package goes first, and only as many as necessary"):
    val index = CacheIndex().add(id(1), 10).add(id(2), 10).add(id(3), 10).acquire(id(1)).release(id(1))
    assertEquals(index.evict(30)._2, Vector.empty)
    assertEquals(index.evict(20)._2, Vector(id(2)))
    assertEquals(index.evict(0)._2, Vector(id(2), id(3), id(1)))

  test("a held package stays until every holder has released it"):
    val index = CacheIndex().add(id(1), 10).acquire(id(1)).acquire(id(1)).release(id(1))
    assertEquals(index.evict(0)._2, Vector.empty)
    assertEquals(index.release(id(1)).evict(0)._2, Vector(id(1)))

  private enum Step:
    case Add(n: Int, size: Long)
    case Acquire(n: Int)
    case Release(n: Int)

  private val steps = Gen.listOf:
    for
      n <- Gen.choose(0, 5)
      step <- Gen.oneOf(
        Gen.choose(1L, 50L).map(Step.Add(n, _)),
        Gen.const(Step.Acquire(n)),
        Gen.const(Step.Release(n))
      )
    yield step

  property("eviction spares packages in use, and gets within the limit unless only those are left"):
    forAll(steps, Gen.choose(0L, 120L)): (steps, limit) =>
      val index = steps.foldLeft(CacheIndex()):
        case (index, Step.Add(n, size)) =>
          if index.entries.contains(id(n)) then index else index.add(id(n), size)
        case (index, Step.Acquire(n)) => index.acquire(id(n))
        case (index, Step.Release(n)) => index.release(id(n))
      val (remaining, victims) = index.evict(limit)
      assert(victims.forall(id => index.entries(id).users == 0))
      assert(remaining.bytes <= limit || remaining.entries.values.forall(_.users > 0))
      assertEquals(remaining.bytes + victims.map(index.entries(_).bytes).sum, index.bytes)
