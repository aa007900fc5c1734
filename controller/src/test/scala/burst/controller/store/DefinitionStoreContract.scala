package burst.controller.store

import burst.controller.definition.{Definition, FlareOptions}
import burst.controller.store.Samples.*
import burst.protocol.PackageId
import io.circe.{Json, JsonObject}
import java.util.concurrent.{Callable, Executors}
import scala.jdk.CollectionConverters.*

/** What every implementation of [[DefinitionStore]] must do. */
abstract class DefinitionStoreContract extends StorageFixtures:

  storage.test("what was never stored is not found, not listed and not deleted"): s =>
    assertEquals(s.definitions.find("guest", "hello"), None)
    assertEquals(s.definitions.list("guest", 10, 0), Vector.empty)
    assert(!s.definitions.delete("guest", "hello"))

  storage.test("a taken name is refused and left as it was without overwrite"): s =>
    val first = put(s, definition(), overwrite = false)
    assertEquals(first, Right(definition().copy(version = "0.0.1")))
    assertEquals(put(s, definition(pkg = package2), overwrite = false), Left(DeployRefusal.Exists))
    assertEquals(s.definitions.find("guest", "hello"), first.toOption)

  storage.test("an overwrite replaces what it names and raises the patch version"): s =>
    put(s, definition(), overwrite = true)
    val next = definition(pkg = package2).copy(packageSize = 9, updated = 99)
    assertEquals(put(s, next, overwrite = true), Right(next.copy(version = "0.0.2")))
    assertEquals(s.definitions.find("guest", "hello"), Some(next.copy(version = "0.0.2")))

  storage.test("an overwrite keeps the options it leaves open, and the parameters unless they are replaced"):
    s =>
      val first = definition().copy(
        options = FlareOptions(granularity = Some(2), timeout = Some(5)),
        parameters = JsonObject("a" -> Json.fromInt(1))
      )
      put(s, first)
      val next = definition().copy(
        options = FlareOptions(timeout = Some(7), memory = Some(64)),
        parameters = JsonObject.empty
      )
      val merged = next.copy(
        version = "0.0.2",
        options = FlareOptions(granularity = Some(2), timeout = Some(7), memory = Some(64)),
        parameters = first.parameters
      )
      assertEquals(put(s, next, replaceParameters = false), Right(merged))
      assertEquals(s.definitions.find("guest", "hello"), Some(merged))
      val emptied = put(s, next)
      assertEquals(emptied.map(_.parameters), Right(JsonObject.empty))

  storage.test("of concurrent overwrites none loses what another set"): s =>
    put(s, definition().copy(options = FlareOptions()))
    val settings = Vector(
      FlareOptions(granularity = Some(2)),
      FlareOptions(timeout = Some(5)),
      FlareOptions(memory = Some(64)),
      FlareOptions(retries = Some(1))
    )
    val pool = Executors.newFixedThreadPool(4)
    try
      val puts = settings.map[Callable[Any]]: options =>
        () => put(s, definition().copy(options = options))
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
      assertEquals(together(put(s, definition(), overwrite = false)).count(_.isRight), 1)
      val versions = together(put(s, definition(), overwrite = true)).flatMap(_.toOption).map(_.version)
      assertEquals(versions.toSet, (2 to 17).map(n => s"0.0.$n").toSet)
    finally pool.shutdownNow()

  storage.test("a list is of one namespace, newest first, and cut by limit and skip"): s =>
    Vector("a" -> 3L, "b" -> 1L, "c" -> 2L).foreach: (name, at) =>
      put(s, definition(name).copy(updated = at), overwrite = false)
    put(s, definition("other", "elsewhere"), overwrite = false)
    assertEquals(s.definitions.list("guest", 10, 0).map(_.name), Vector("a", "c", "b"))
    assertEquals(s.definitions.list("guest", 1, 1).map(_.name), Vector("c"))
    assertEquals(s.definitions.find("elsewhere", "a"), None)

  storage.test("a definition is stored only with its package"): s =>
    val nowhere = PackageId.of(Array[Byte](9))
    intercept[PackageGone](put(s, definition(pkg = nowhere), overwrite = true))
    assertEquals(s.definitions.find("guest", "hello"), None)

  storage.test(
    "a namespace has as many definitions, of as many bytes, as it may, also when they come at once"
  ): s =>
    s.namespaces.create("guest")
    def bare(name: String, namespace: String = "guest") =
      definition(name, namespace).copy(parameters = JsonObject.empty)
    // Each has a byte and the two of its parameters.
    val few = limits.copy(definitions = 3, definitionBytes = 11)
    val pool = Executors.newFixedThreadPool(8)
    try
      val wanted = Vector.tabulate[Callable[Either[DeployRefusal, Definition]]](8): i =>
        () => put(s, bare(s"d$i"), overwrite = true, few)
      val told = pool.invokeAll(wanted.asJava).asScala.toVector.map(_.get)
      assertEquals(told.count(_.isRight), 3)
      assertEquals(told.flatMap(_.left.toOption).distinct, Vector(DeployRefusal.TooMany(3)))
    finally pool.shutdownNow()
    val name = s.definitions.list("guest", 1, 0).head.name
    val large = bare(name).copy(packageSize = 4)
    assertEquals(put(s, large, overwrite = true, few), Left(DeployRefusal.TooLarge(12, 11)))
    assert(put(s, large.copy(packageSize = 3), overwrite = true, few).isRight, "it is not counted twice")
    assert(put(s, bare("hello", "other"), overwrite = true, few).isRight)

  storage.test(
    "parameters count among a namespace's bytes, also those that are kept, and lists leave them out"
  ): s =>
    val first = definition().copy(parameters = JsonObject("é" -> Json.fromInt(1)))
    val few = limits.copy(definitionBytes = 10)
    assertEquals(put(s, first.copy(packageSize = 3), limits = few), Left(DeployRefusal.TooLarge(11, 10)))
    val stored = put(s, first.copy(packageSize = 2), limits = few)
    assertEquals(stored.map(_.parameters), Right(first.parameters))
    val next = first.copy(packageSize = 3, parameters = JsonObject.empty)
    assertEquals(put(s, next, limits = few, replaceParameters = false), Left(DeployRefusal.TooLarge(11, 10)))
    assertEquals(
      put(s, definition("b").copy(parameters = JsonObject.empty), limits = few),
      Left(DeployRefusal.TooLarge(13, 10))
    )
    assert(put(s, next, limits = few).isRight)
    put(s, first, limits = few)
    assertEquals(
      s.definitions.list("guest", 10, 0),
      s.definitions.find("guest", "hello").toVector.map(
        _.copy(parameters = JsonObject.empty)
      )
    )
