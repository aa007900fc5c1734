package burst.controller.definition

import burst.controller.flare.FlareState
import burst.controller.store.{EmbeddedStorage, Janitor, Retention, Samples}
import burst.protocol.PackageId
import java.util.concurrent.{Callable, Executors}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*

class DefinitionsSuite extends munit.FunSuite, EmbeddedStorage:
  private def bytes(n: Int) = Array(n.toByte)
  private def definition(name: String, n: Int) = Samples.definition(name, pkg = PackageId.of(bytes(n)))

  storage.test("a refused deploy leaves neither definition nor package"): s =>
    val definitions = Definitions(s.definitions, s.packages)
    definitions.deploy(definition("a", 1), bytes(1), overwrite = false)
    assertEquals(definitions.deploy(definition("a", 2), bytes(2), overwrite = false), None)
    assertEquals(s.packages.ids(), Vector(PackageId.of(bytes(1))))

  storage.test("deploys and removals at once never part a definition from its package"): s =>
    val definitions = Definitions(s.definitions, s.packages)
    val pool = Executors.newFixedThreadPool(4)
    try
      val work = Vector.tabulate[Callable[Unit]](200): i =>
        () =>
          val name = s"d${i % 3}"
          if i % 2 == 0 then definitions.deploy(definition(name, i % 2), bytes(i % 2), overwrite = true)
          else definitions.remove("guest", name)
          ()
      pool.invokeAll(work.asJava).asScala.foreach(_.get)
    finally pool.shutdownNow()
    val used = s.definitions.list("guest", 10, 0).map(_.packageId).distinct
    assertEquals(used.filter(s.packages.size(_).isEmpty), Vector.empty)
    definitions.sweep()
    assertEquals(s.packages.ids().sortBy(_.value), used.sortBy(_.value))

  storage.test("a package outlives its definition as long as a flare needs it, then it is swept"): s =>
    val definitions = Definitions(s.definitions, s.packages)
    val janitor = Janitor(s.flares, definitions, Retention(1, 1.day, 1.hour, 10), () => 0)
    val id = PackageId.of(bytes(1))
    definitions.deploy(definition("a", 1), bytes(1), overwrite = false)
    val flare = Samples.flare(pkg = id)
    s.flares.insert(flare)
    assertEquals(definitions.remove("guest", "a").map(_.name), Some("a"))
    janitor.round()
    assert(s.packages.size(id).isDefined)
    s.flares.update(Samples.grown(flare, FlareState.Succeeded))
    janitor.round()
    assertEquals(s.packages.size(id), None)

  storage.test("the janitor keeps as many ended flares as it is told, and none beyond the age"): s =>
    val flares = Vector.tabulate(4)(i => Samples.flare(created = i * 1000L, state = FlareState.Failed))
    flares.foreach(s.flares.insert)
    val definitions = Definitions(s.definitions, s.packages)
    def left = s.flares.list(Some("guest"), None, None, 10, 0).map(_.created)
    assertEquals(Janitor(s.flares, definitions, Retention(3, 1.day, 1.hour, 10), () => 0).round(), 1)
    assertEquals(left, Vector(3000L, 2000L, 1000L))
    val later = 1.day.toMicros + 2500
    assertEquals(Janitor(s.flares, definitions, Retention(3, 1.day, 1.hour, 10), () => later).round(), 2)
    assertEquals(left, Vector(3000L))
