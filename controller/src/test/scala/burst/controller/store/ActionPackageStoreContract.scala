package burst.controller.store

import burst.controller.definition.{ActionFields, ActionPackage, PackageName, Parameters}
import burst.controller.store.Samples.*
import burst.protocol.Timestamp
import io.circe.{Json, JsonObject}
import java.util.concurrent.{Callable, Executors}
import scala.jdk.CollectionConverters.*

/** What every implementation of [[ActionPackageStore]] must do, and every [[DefinitionStore]] for actions. */
abstract class ActionPackageStoreContract extends StorageFixtures:
  private def sample(name: String = "p", namespace: String = "guest") = ActionPackage(
    namespace,
    name,
    "0.0.1",
    publish = false,
    None,
    Parameters(JsonObject("é" -> Json.fromString("\u0000😀"), "i" -> Json.fromInt(1)), Set("i")),
    JsonObject("a" -> Json.True),
    updated = Timestamp.ofMicros(17)
  )

  private def put(
      s: Storage,
      wanted: ActionPackage,
      limits: burst.controller.limits.NamespaceLimits = limits
  ) =
    s.actionPackages.edit(wanted.namespace, wanted.name, limits)(_ => Right(wanted))

  private def action(s: Storage, name: String) = Samples.put(s, definition(name))

  /** Runs several calls at the same time and returns their results. */
  private def together[A](works: (() => A)*): Vector[A] =
    val pool = Executors.newFixedThreadPool(works.size)
    try
      val calls = works.map(work => (() => work()): Callable[A])
      pool.invokeAll(calls.asJava).asScala.toVector.map(_.get)
    finally pool.shutdownNow()

  storage.test("a package is found as last stored, listed without parameters, and deleted"): s =>
    assertEquals(s.actionPackages.find("guest", "p"), None)
    assertEquals(put(s, sample()), Right(sample()))
    val next = sample().copy(
      publish = true,
      version = "2.0.0",
      parameters = Parameters.Empty,
      updated = Timestamp.ofMicros(18)
    )
    assertEquals(
      s.actionPackages.edit("guest", "p", limits): there =>
        assertEquals(there, Some(sample()))
        Right(next)
      ,
      Right(next)
    )
    assertEquals(s.actionPackages.find("guest", "p"), Some(next))
    put(s, sample("q").copy(updated = Timestamp.ofMicros(19)))
    put(s, sample("p", "other"))
    val listed = s.actionPackages.list("guest", published = false, 10, 0)
    assertEquals(
      listed,
      Vector(sample("q").copy(updated = Timestamp.ofMicros(19), parameters = Parameters.Empty), next)
    )
    assertEquals(s.actionPackages.list("guest", published = true, 10, 0), Vector(next))
    assertEquals(s.actionPackages.list("guest", published = false, 1, 1), Vector(next))
    assertEquals(s.actionPackages.count("guest", published = false), 2)
    assertEquals(s.actionPackages.count("guest", published = true), 1)
    assertEquals(s.actionPackages.delete("guest", "p", force = false).map(_.there), Right(next))
    assertEquals(s.actionPackages.delete("guest", "p", force = false), Left(PackageRefusal.Missing))

  storage.test("a binding refers to a package of its own namespace, or to a published one"): s =>
    def bind(name: String, target: PackageName) = put(s, sample(name).copy(binding = Some(target)))
    put(s, sample())
    put(s, sample("open", "other").copy(publish = true))
    put(s, sample("closed", "other"))
    action(s, "plain")
    assert(bind("b", PackageName("guest", "p")).isRight)
    assert(bind("b", PackageName("other", "open")).isRight)
    assertEquals(s.actionPackages.find("guest", "b").flatMap(_.binding), Some(PackageName("other", "open")))
    val nothing = PackageName("guest", "none")
    assertEquals(bind("c", nothing), Left(PackageRefusal.BindsNothing(nothing)))
    val binding = PackageName("guest", "b")
    assertEquals(bind("c", binding), Left(PackageRefusal.BindsBinding(binding)))
    val plain = PackageName("guest", "plain")
    assertEquals(bind("c", plain), Left(PackageRefusal.BindsOther(plain, Collection.Definitions)))
    for name <- Seq("closed", "none") do
      assertEquals(bind("c", PackageName("other", name)), Left(PackageRefusal.BindsClosed))
    assertEquals(bind("p", PackageName("other", "open")), Left(PackageRefusal.NoBinding))

  storage.test("an action needs an existing package that is not a binding, and is listed with it"): s =>
    assertEquals(action(s, "p/a"), Left(DeployRefusal.NoSuchPackage("p")))
    put(s, sample())
    put(s, sample("b").copy(binding = Some(PackageName("guest", "p"))))
    for name <- Seq("p/a", "p/b", "pp") do assert(action(s, name).isRight, name)
    assertEquals(action(s, "b/a"), Left(DeployRefusal.InBinding("b")))
    assertEquals(s.definitions.list("guest", 10, 0, Some("p")).map(_.name).toSet, Set("p/a", "p/b"))
    assertEquals(s.definitions.list("guest", 10, 0).size, 3)
    assertEquals(s.definitions.count("guest", Some("p")), 2)
    assertEquals(s.definitions.count("guest"), 3)
    assertEquals(s.actionPackages.delete("guest", "p", force = false), Left(PackageRefusal.NotEmpty(2)))
    assertEquals(s.actionPackages.delete("guest", "p", force = true).map(_.released), Right(Set(package1)))
    assertEquals(s.definitions.list("guest", 10, 0).map(_.name), Vector("pp"))

  storage.test("a name belongs to one entity, whichever comes first"): s =>
    s.namespaces.create("guest")
    for i <- 1 to 8 do
      val both = together[Boolean](() => put(s, sample(s"n$i")).isRight, () => action(s, s"n$i").isRight)
      assertEquals(both.count(identity), 1, s"n$i: $both")
    action(s, "taken")
    assertEquals(put(s, sample("taken")), Left(PackageRefusal.NameTaken(Collection.Definitions)))
    put(s, sample("package"))
    assertEquals(action(s, "package"), Left(DeployRefusal.NameTaken(Collection.Packages)))

  storage.test("no action is left without its package, however calls interleave"): s =>
    s.namespaces.create("guest")
    for i <- 1 to 8 do
      put(s, sample(s"m$i"))
      together[Any](
        () => action(s, s"m$i/a"),
        () => s.actionPackages.delete("guest", s"m$i", force = true),
        () => action(s, s"m$i/b")
      )
      val left = s.definitions.count("guest", Some(s"m$i"))
      assert(s.actionPackages.find("guest", s"m$i").isDefined || left == 0, s"$left actions of m$i")

  storage.test("packages count towards a namespace's bytes, like its definitions"): s =>
    def small(name: String) = sample(name).copy(parameters = Parameters.Empty, annotations = JsonObject.empty)
    val few = limits.copy(definitions = 2, definitionBytes = 10)
    assert(put(s, small("a"), few).isRight)
    assert(put(s, small("b"), few).isRight)
    assertEquals(put(s, small("c"), few), Left(PackageRefusal.TooMany(2)))
    assertEquals(put(s, sample("b"), few).left.map(_.toString.takeWhile(_ != '(')), Left("TooLarge"))
    val wanted = definition().copy(parameters = JsonObject.empty)
    assertEquals(Samples.put(s, wanted, limits = few), Left(DeployRefusal.TooLarge(11, 10)))
    assert(Samples.put(s, wanted, limits = few.copy(definitionBytes = 11)).isRight)

  storage.test("an action's fields are stored and counted for each version"): s =>
    val fields = ActionFields(
      main = Some("go"),
      image = Some("a/b"),
      components = Vector("/_/a"),
      binary = false,
      annotations = JsonObject("a" -> Json.Null),
      publish = true,
      initParameters = Set("i"),
      logs = 3,
      concurrency = 2,
      label = Some("1.0.0")
    )
    val first = Samples.put(s, definition().copy(action = fields))
    assertEquals(first.map(_.shownVersion), Right("1.0.0"))
    assertEquals(s.definitions.find("guest", "hello").map(_.action), Some(fields))
    assertEquals(s.definitions.list("guest", 1, 0).map(_.action), Vector(fields))
    val second = Samples.put(s, definition().copy(action = ActionFields(main = Some("other"))))
    assertEquals(second.map(_.shownVersion), Right("1.0.1"))
    assertEquals(second.map(_.action.annotations), Right(fields.annotations))
    assertEquals(second.map(_.action.main), Right(Some("other")))
    assertEquals(s.definitions.find("guest", "hello", "0.0.1").map(_.action), Some(fields))
    val back =
      s.definitions.rollBack("guest", "hello", None, limits, Timestamp.ofMicros(20)).map(_.definition)
    assertEquals(back.map(_.action.copy(label = None)), Right(fields.copy(label = None)))
    assertEquals(back.map(_.shownVersion), Right("1.0.2"))
    val long = definition("long").copy(action = ActionFields(main = Some("x" * 100)))
    assert(Samples.put(s, long, limits = limits.copy(definitionBytes = 200)).isLeft)
