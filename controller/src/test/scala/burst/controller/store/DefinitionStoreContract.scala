package burst.controller.store

import burst.controller.definition.FlareOptions
import burst.controller.flare.FlareState
import burst.controller.store.Samples.*
import io.circe.{Json, JsonObject}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{Callable, Executors}
import scala.jdk.CollectionConverters.*

/** What every implementation of [[DefinitionStore]] must do. */
abstract class DefinitionStoreContract extends StorageFixtures:

  storage.test("what was never stored is not found, not listed, not deleted and uses no package"): s =>
    assertEquals(s.definitions.find("guest", "hello"), None)
    assertEquals(s.definitions.list("guest", 10, 0), Vector.empty)
    assert(!s.definitions.delete("guest", "hello"))
    assert(!s.definitions.usesPackage(package1))

  storage.test("a taken name is refused and left as it was without overwrite"): s =>
    val first = s.definitions.put(definition(), overwrite = false)
    assertEquals(first, Some(definition().copy(version = "0.0.1")))
    assertEquals(s.definitions.put(definition(pkg = package2), overwrite = false), None)
    assertEquals(s.definitions.find("guest", "hello"), first)

  storage.test("an overwrite replaces what it names and raises the patch version"): s =>
    s.definitions.put(definition(), overwrite = true)
    val next = definition(pkg = package2).copy(packageSize = 9, updated = 99)
    assertEquals(s.definitions.put(next, overwrite = true), Some(next.copy(version = "0.0.2")))
    assertEquals(s.definitions.find("guest", "hello"), Some(next.copy(version = "0.0.2")))
    assert(s.definitions.usesPackage(package2) && !s.definitions.usesPackage(package1))

  storage.test("an overwrite keeps the options it leaves open, and the parameters unless they are replaced"):
    s =>
      val first = definition().copy(
        options = FlareOptions(granularity = Some(2), timeout = Some(5)),
        parameters = JsonObject("a" -> Json.fromInt(1))
      )
      s.definitions.put(first, overwrite = true)
      val next = definition().copy(
        options = FlareOptions(timeout = Some(7), memory = Some(64)),
        parameters = JsonObject.empty
      )
      val merged = next.copy(
        version = "0.0.2",
        options = FlareOptions(granularity = Some(2), timeout = Some(7), memory = Some(64)),
        parameters = first.parameters
      )
      assertEquals(s.definitions.put(next, overwrite = true, replaceParameters = false), Some(merged))
      assertEquals(s.definitions.find("guest", "hello"), Some(merged))
      val emptied = s.definitions.put(next, overwrite = true)
      assertEquals(emptied.map(_.parameters), Some(JsonObject.empty))

  storage.test("of concurrent overwrites none loses what another set"): s =>
    s.definitions.put(definition().copy(options = FlareOptions()), overwrite = true)
    val settings = Vector(
      FlareOptions(granularity = Some(2)),
      FlareOptions(timeout = Some(5)),
      FlareOptions(memory = Some(64)),
      FlareOptions(retries = Some(1))
    )
    val pool = Executors.newFixedThreadPool(4)
    try
      val puts = settings.map[Callable[Any]]: options =>
        () => s.definitions.put(definition().copy(options = options), overwrite = true)
      pool.invokeAll(puts.asJava).asScala.foreach(_.get)
    finally pool.shutdownNow()
    assertEquals(
      s.definitions.find("guest", "hello").map(_.options),
      Some(settings.reduce(_.orElse(_)))
    )

  storage.test("concurrent creations have one winner, concurrent overwrites a version each"): s =>
    val pool = Executors.newFixedThreadPool(8)
    try
      def together[A](work: => A): Vector[A] =
        pool.invokeAll(Vector.fill[Callable[A]](16)(() => work).asJava).asScala.toVector.map(_.get)
      assertEquals(together(s.definitions.put(definition(), overwrite = false)).flatten.size, 1)
      val versions = together(s.definitions.put(definition(), overwrite = true)).flatten.map(_.version)
      assertEquals(versions.toSet, (2 to 17).map(n => s"0.0.$n").toSet)
    finally pool.shutdownNow()

  storage.test("a list is of one namespace, newest first, and cut by limit and skip"): s =>
    Vector("a" -> 3L, "b" -> 1L, "c" -> 2L).foreach: (name, at) =>
      s.definitions.put(definition(name).copy(updated = at), overwrite = false)
    s.definitions.put(definition("other", "elsewhere"), overwrite = false)
    assertEquals(s.definitions.list("guest", 10, 0).map(_.name), Vector("a", "c", "b"))
    assertEquals(s.definitions.list("guest", 1, 1).map(_.name), Vector("c"))
    assertEquals(s.definitions.find("elsewhere", "a"), None)

  storage.test("a package is used by definitions, and by flares until they have ended"): s =>
    s.definitions.put(definition(), overwrite = false)
    val running = flare(pkg = package2)
    s.flares.insert(running)
    assert(s.definitions.usesPackage(package2))
    assert(s.definitions.delete("guest", "hello"))
    assert(!s.definitions.usesPackage(package1))
    s.flares.update(grown(running, FlareState.Failed))
    assert(!s.definitions.usesPackage(package2))

  storage.test("who holds a package holds off all others, and lets go however the work ends"): s =>
    assertEquals(DefinitionStoreContract.mostAtOnce(Vector(s)), 1)
    s.definitions.holding(package1):
      assertEquals(s.definitions.holding(package2)("free"), "free")
    intercept[IllegalStateException](s.definitions.holding(package1)(throw IllegalStateException()))
    assertEquals(s.definitions.holding(package1)("free"), "free")

object DefinitionStoreContract:
  /** How many were within at once, of many that wanted to hold one package through these storages. */
  def mostAtOnce(storages: Vector[Storage]): Int =
    val inside, most = AtomicInteger()
    def visit(): Unit =
      most.accumulateAndGet(inside.incrementAndGet(), math.max)
      Thread.`yield`()
      inside.decrementAndGet()
      ()
    val pool = Executors.newFixedThreadPool(4)
    try
      val work = Vector.tabulate[Callable[Unit]](40): i =>
        () => storages(i % storages.size).definitions.holding(package1)(visit())
      pool.invokeAll(work.asJava).asScala.foreach(_.get)
    finally pool.shutdownNow()
    most.get
