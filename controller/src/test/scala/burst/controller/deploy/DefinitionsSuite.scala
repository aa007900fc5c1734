package burst.controller.deploy

import burst.controller.blob.BlobName
import burst.controller.flare.{Flare, FlareState, Output, WorkerResult}
import burst.controller.store.*
import burst.protocol.{PackageId, Timestamp}
import java.nio.file.Files
import java.util.concurrent.{Callable, Executors}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*
import scala.util.{Failure, Success, Try}

class DefinitionsSuite extends DefinitionsContract, EmbeddedStorage
class PostgresDefinitionsSuite extends DefinitionsContract, PostgresStorage

/** Definitions, packages, flares and retention together, on any database. */
abstract class DefinitionsContract extends StorageFixtures:
  override def munitTimeout = 2.minutes
  private def bytes(n: Int) = Array((n + 10).toByte)
  private def definition(name: String, n: Int) = Samples.definition(name, pkg = PackageId.of(bytes(n)))
  private def deploy(definitions: Definitions, name: String, n: Int, overwrite: Boolean = true) =
    definitions.deploy(definition(name, n), bytes(n), overwrite, Samples.limits)

  /** The stored packages, without those that the fixture keeps. */
  private def packages(s: Storage) = s.packages.ids().filterNot(Set(Samples.package1, Samples.package2))
  private def janitor(s: Storage, retention: Retention, now: Timestamp = Timestamp.Epoch) =
    Janitor(s.flares, s.packages, s.blobs, retention, _ => 1 << 20, () => now)

  storage.test("a refused deploy leaves neither definition nor package"): s =>
    val definitions = Definitions(s.definitions, s.packages)
    deploy(definitions, "a", 1, overwrite = false)
    assertEquals(deploy(definitions, "a", 2, overwrite = false), Left(DeployRefusal.Exists))
    assertEquals(packages(s), Vector(PackageId.of(bytes(1))))

  storage.test("concurrent deploys and removals never separate a definition from its package"): s =>
    val definitions = Definitions(s.definitions, s.packages)
    val pool = Executors.newFixedThreadPool(4)
    try
      val work = Vector.tabulate[Callable[Unit]](200): i =>
        () =>
          val name = s"d${i % 3}"
          if i % 2 == 0 then deploy(definitions, name, i % 2)
          else definitions.remove("guest", name)
          ()
      pool.invokeAll(work.asJava).asScala.foreach(_.get)
    finally pool.shutdownNow()
    val used = s.definitions.list("guest", 10, 0).map(_.packageId).distinct
    assertEquals(used.filter(s.packages.size(_).isEmpty), Vector.empty)
    s.packages.sweep()
    assertEquals(packages(s).sortBy(_.value), used.sortBy(_.value))

  storage.test("a package outlives its definition while a flare needs it, and is swept afterwards"): s =>
    val definitions = Definitions(s.definitions, s.packages)
    val janitor = this.janitor(s, Retention(1, 1.day, 1.hour, 10))
    val id = PackageId.of(bytes(1))
    deploy(definitions, "a", 1, overwrite = false)
    val flare = Samples.flare(pkg = id)
    s.flares.insert(flare)
    assertEquals(definitions.remove("guest", "a").map(_.name), Some("a"))
    janitor.round()
    assert(s.packages.size(id).isDefined)
    s.flares.update(Samples.grown(flare, FlareState.Succeeded))
    janitor.round()
    assertEquals(s.packages.size(id), None)

  storage.test(
    "a flare whose version is dropped before the flare is stored is refused for lack of its package"
  ): s =>
    val definitions = Definitions(s.definitions, s.packages)
    deploy(definitions, "a", 1, overwrite = true)
    val read = s.definitions.find("guest", "a").getOrElse(fail("not deployed"))
    (1 until Samples.versions).foreach(_ => deploy(definitions, "a", 2))
    assertEquals(packages(s).size, 2)
    deploy(definitions, "a", 2)
    intercept[PackageGone](s.flares.insert(Samples.flare(pkg = read.packageId)))

  storage.test("flares of a definition that is constantly overwritten keep their package until they end"):
    s =>
      val definitions = Definitions(s.definitions, s.packages)
      deploy(definitions, "a", 0)
      val pool = Executors.newFixedThreadPool(4)
      @annotation.tailrec
      def accepted(): Flare =
        val read = s.definitions.find("guest", "a").getOrElse(fail("not deployed"))
        val flare = Samples.flare(pkg = read.packageId)
        Try(s.flares.insert(flare)) match
          case Success(()) => flare
          case Failure(_: PackageGone) => accepted()
          case Failure(other) => throw other
      def whole(flare: Flare) = s.packages.read(flare.request.definition.packageId, 0, 10).isDefined
      try
        val overwriting = pool.submit((() => (1 to 100).foreach(deploy(definitions, "a", _))): Runnable)
        val flaring = Vector.fill[Callable[Boolean]](3): () =>
          Iterator
            .continually(accepted())
            .take(50)
            .forall: flare =>
              val before = whole(flare)
              s.packages.sweep()
              val after = whole(flare)
              s.flares.update(Samples.grown(flare, FlareState.Succeeded))
              before && after
        assertEquals(pool.invokeAll(flaring.asJava).asScala.map(_.get).toSet, Set(true))
        overwriting.get
      finally pool.shutdownNow()
      s.packages.sweep()
      assertEquals(packages(s).size, Samples.versions)

  storage.test("concurrent rollbacks, deploys and removals never separate a version from its package"): s =>
    val definitions = Definitions(s.definitions, s.packages)
    val pool = Executors.newFixedThreadPool(4)
    try
      val work = Vector.tabulate[Callable[Unit]](200): i =>
        () =>
          i % 4 match
            case 0 | 1 => deploy(definitions, "a", i % 5)
            case 2 => definitions.rollBack("guest", "a", None, Samples.limits, Timestamp.ofMicros(i))
            case _ => if i % 5 == 0 then definitions.remove("guest", "a")
          ()
      pool.invokeAll(work.asJava).asScala.foreach(_.get)
    finally pool.shutdownNow()
    val used = s.definitions.versions("guest", "a", 10, 0).map(_.packageId).distinct
    assertEquals(used.filter(s.packages.size(_).isEmpty), Vector.empty)
    s.packages.sweep()
    assertEquals(packages(s).sortBy(_.value), used.sortBy(_.value))

  storage.test("retention keeps up with any number of flares and applies to each namespace separately"): s =>
    Vector.tabulate(
      2400
    )(i => Samples.flare(created = i, state = FlareState.Failed)).foreach(s.flares.insert(_))
    val other = Samples.flare(created = 0, namespace = "other", state = FlareState.Failed)
    s.flares.insert(other)
    janitor(s, Retention(100, 1.day, 1.hour, 500)).round()
    assertEquals(s.flares.list(Some("guest"), None, None, 3000, 0).size, 100)
    assert(s.flares.find(other.id).isDefined)

  storage.test("a flare's outputs are deleted with it, however recently the janitor ran"): s =>
    val janitor = this.janitor(s, Retention(1, 1.day, 1.hour, 10))
    janitor.round()
    val flares = Vector.tabulate(2)(i => Samples.flare(created = i, state = FlareState.Failed))
    flares.foreach: flare =>
      s.flares.insert(flare)
      s.blobs.put(
        flare.id,
        BlobName.output(0),
        Files.writeString(Files.createTempFile("burst-output", ""), "1")
      )
      s.flares.addResults(flare.id, Vector(WorkerResult(0, Some(Output.OutOfLine(1)), None)))
    assertEquals(janitor.round(), 1)
    assertEquals(s.blobs.flares(), Vector(flares(1).id))

  storage.test("the janitor keeps the configured number of ended flares, and none past the maximum age"): s =>
    val flares = Vector.tabulate(4)(i => Samples.flare(created = i * 1000L, state = FlareState.Failed))
    flares.foreach(s.flares.insert(_))
    def left = s.flares.list(Some("guest"), None, None, 10, 0).map(_.created.micros)
    assertEquals(janitor(s, Retention(3, 1.day, 1.hour, 10)).round(), 1)
    assertEquals(left, Vector(3000L, 2000L, 1000L))
    val later = Timestamp.ofMicros(2500) + 1.day
    assertEquals(janitor(s, Retention(3, 1.day, 1.hour, 10), later).round(), 2)
    assertEquals(left, Vector(3000L))
