package burst.invoker.pool

import burst.node.{MonotonicTime, SetupException}
import burst.protocol.{DefinitionRef, Environment, PackageId}
import munit.ScalaCheckSuite
import org.scalacheck.Gen
import org.scalacheck.Prop.forAll
import scala.concurrent.duration.DurationInt

class PackPoolSuite extends ScalaCheckSuite:
  private val packageId = PackageId.of(Array[Byte](1))
  private val hello = DefinitionRef("guest", "hello", "0.0.1", packageId)
  private val limits = PoolLimits(packs = 100, memoryMiB = 1_000_000, idle = 1.minute)

  private def shape(workers: Int, memory: Int = 256, definition: DefinitionRef = hello) =
    PackShape(definition, workers, memory)

  private def python(workers: Int) = shape(workers, definition = hello.copy(kind = "python:3.11"))

  private def withToken(token: String) = shape(4).copy(environment = Environment(Map("TOKEN" -> token)))

  /** A pool of packs numbered by their position, each added a second after the previous one. */
  private def pool(limits: PoolLimits, shapes: PackShape*): PackPool[Int] =
    shapes.zipWithIndex.foldLeft(PackPool[Int](limits)):
      case (pool, (shape, index)) => pool.put(index, shape, MonotonicTime.Zero + index.seconds)._1

  for
    (name, idle, requested, taken) <- List(
      ("nothing there", Nil, shape(4), None),
      ("the exact size", List(shape(2), shape(4), shape(8)), shape(4), Some(1)),
      ("the smallest that is large enough", List(shape(2), shape(8), shape(6)), shape(5), Some(2)),
      ("else the largest", List(shape(2), shape(8), shape(6)), shape(9), Some(1)),
      ("of several alike the one used last", List(shape(4), shape(4), shape(4)), shape(4), Some(2)),
      ("not with another memory per worker", List(shape(4, memory = 512)), shape(4), None),
      ("not with another environment", List(withToken("old"), shape(4)), withToken("new"), None),
      ("the same environment", List(withToken("old"), withToken("new"), shape(4)), withToken("new"), Some(1)),
      ("of a launcher's only those of several for several", List(python(1), python(6)), python(4), Some(1)),
      ("of a launcher's none of several for one", List(python(4), python(6)), python(1), None),
      ("not of another version", List(shape(4, definition = hello.copy(version = "0.0.2"))), shape(4), None),
      ("not of another name", List(shape(4, definition = hello.copy(name = "bye"))), shape(4), None),
      ("not across namespaces", List(shape(4, definition = hello.copy(namespace = "other"))), shape(4), None),
      (
        "not of another package",
        List(shape(4, definition = hello.copy(packageId = PackageId.of(Array[Byte](2))))),
        shape(4),
        None
      )
    )
  do
    test(s"a flare gets: $name"):
      val before = pool(limits, idle*)
      val (pack, after) = before.take(requested)
      assertEquals(pack.map(_.container), taken)
      assertEquals(after.idle.size, before.idle.size - taken.size)

  test("beyond the number of packs the longest idle ones are evicted"):
    val (after, evicted) =
      pool(limits.copy(packs = 2), shape(1), shape(1)).put(9, shape(1), MonotonicTime.Zero + 5.seconds)
    assertEquals(evicted.map(_.container), Vector(0))
    assertEquals(after.idle.map(_.container), Vector(1, 9))

  test("beyond the memory limit the longest idle packs are evicted until the rest fits"):
    val (after, evicted) =
      pool(
        limits.copy(memoryMiB = 1024),
        shape(1),
        shape(2),
        shape(1)
      ).put(9, shape(2), MonotonicTime.Zero + 5.seconds)
    assertEquals(evicted.map(_.container), Vector(0, 1))
    assertEquals(after.idle.map(_.container), Vector(2, 9))

  test("room is made by evicting the longest idle packs, as many as necessary"):
    val warm = pool(limits, shape(1), shape(2), shape(1))
    def evicted(memoryMiB: Long, workers: Int) = warm.holding(memoryMiB, workers).map(_.map(_.container))
    assertEquals(evicted(0, -3), Some(Vector.empty))
    assertEquals(evicted(257, 0), Some(Vector(0, 1)))
    assertEquals(evicted(0, 1), Some(Vector(0)))
    assertEquals(evicted(1, 4), Some(Vector(0, 1, 2)))
    assertEquals(evicted(0, 5), Some(Vector(0, 1, 2)), "the other slots are of running packs")
    assertEquals(evicted(1025, 0), None)

  test("a pack that alone exceeds the limits is not kept"):
    val (after, evicted) = pool(limits.copy(memoryMiB = 1024)).put(9, shape(8), MonotonicTime.Zero)
    assertEquals((after.idle.size, evicted.map(_.container)), (0, Vector(9)))
    assertEquals(
      pool(limits.copy(packs = 0)).put(9, shape(1), MonotonicTime.Zero)._2.map(_.container),
      Vector(9)
    )

  test("packs leave exactly at their timeout"):
    val warm = pool(limits, shape(1), shape(1))
    assertEquals(warm.expire(MonotonicTime.Zero + 1.minute - 1.micro)._2.map(_.container), Vector.empty)
    assertEquals(warm.expire(MonotonicTime.Zero + 1.minute)._2.map(_.container), Vector(0))
    assertEquals(warm.expire(MonotonicTime.Zero + 61.seconds)._2.map(_.container), Vector(0, 1))

  private val shapes =
    for
      workers <- Gen.choose(1, 8)
      memory <- Gen.oneOf(128, 256)
      namespace <- Gen.oneOf("guest", "other")
    yield shape(workers, memory, hello.copy(namespace = namespace))

  /** What can happen to a pool: a pack comes back, one is requested, time passes. */
  private enum Step:
    case Put(shape: PackShape)
    case Take(shape: PackShape)
    case Wait

  private val steps: Gen[List[Step]] =
    Gen.listOf(Gen.frequency(
      4 -> shapes.map(Step.Put(_)),
      3 -> shapes.map(Step.Take(_)),
      1 -> Gen.const(Step.Wait)
    ))

  test("the number of warm packs is given, or derived from the machine's memory"):
    assertEquals(PoolLimits.packs("0", Some(1024)), 0)
    assertEquals(PoolLimits.packs("500", None), 500)
    val machines = Vector(Some(0L), Some(64L), Some(1920L), Some(1L << 20), None)
    assertEquals(machines.map(PoolLimits.packs("auto", _)), Vector(1, 1, 20, 256, 64))
    for wrong <- Vector("", "-1", "many", "1.5") do
      val problem = intercept[SetupException](PoolLimits.packs(wrong, Some(1024)))
      assert(problem.getMessage.contains(s"'$wrong'"), problem.getMessage)

  property("whatever happens, no pack is lost or in two places, and the limits hold"):
    val tight = PoolLimits(packs = 4, memoryMiB = 4096, idle = 3.seconds)
    forAll(steps): steps =>
      val start = (PackPool[Int](tight), Set.empty[Int], MonotonicTime.Zero)
      val (last, out, _) = steps.zipWithIndex.foldLeft(start):
        case ((pool, out, now), (step, serial)) =>
          val (next, removed) = step match
            case Step.Put(shape) =>
              val (next, evicted) = pool.put(serial, shape, now)
              (next, evicted.map(_.container))
            case Step.Take(requested) =>
              val (taken, next) = pool.take(requested)
              taken.foreach: pack =>
                assertEquals(pack.shape.definition, requested.definition)
                assertEquals(pack.shape.memoryMiB, requested.memoryMiB)
              (next, taken.map(_.container).toVector)
            case Step.Wait =>
              val (next, expired) = pool.expire(now)
              (next, expired.map(_.container))
          assert(removed.forall(!out.contains(_)))
          assert(next.idle.size <= tight.packs)
          assert(next.idle.map(_.shape.totalMemoryMiB).sum <= tight.memoryMiB)
          (next, out ++ removed, now + 700.millis)
      val put = steps.zipWithIndex.collect { case (Step.Put(_), serial) => serial }.toSet
      assertEquals(last.idle.map(_.container).toSet ++ out, put)
      assert(last.idle.forall(pack => !out.contains(pack.container)))
