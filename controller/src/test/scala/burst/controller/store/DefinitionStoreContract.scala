package burst.controller.store

import burst.controller.definition.{
  Definition,
  FlareOptions,
  SealedEnvironment,
  SealedSecret,
  VariableChanges
}
import burst.controller.secrets.DefinitionName
import burst.controller.store.Samples.*
import burst.protocol.{PackageId, Timestamp}
import io.circe.syntax.*
import io.circe.{Json, JsonObject}
import java.util.concurrent.{Callable, Executors}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*

/** What every implementation of [[DefinitionStore]] must do. */
abstract class DefinitionStoreContract extends StorageFixtures:

  storage.test("an unknown definition is not found, not listed and not deleted"): s =>
    assertEquals(s.definitions.find("guest", "hello"), None)
    assertEquals(s.definitions.list("guest", 10, 0), Vector.empty)
    assertEquals(s.definitions.delete("guest", "hello"), None)

  storage.test("without overwrite a taken name is refused and left unchanged"): s =>
    val first = put(s, definition(), overwrite = false)
    assertEquals(first, Right(definition().copy(version = "0.0.1")))
    assertEquals(put(s, definition(pkg = package2), overwrite = false), Left(DeployRefusal.Exists))
    assertEquals(s.definitions.find("guest", "hello"), first.toOption)

  storage.test("an overwrite replaces a definition and raises the patch version"): s =>
    put(s, definition(), overwrite = true)
    val next = definition(pkg = package2).copy(packageSize = 9, updated = Timestamp.ofMicros(99))
    assertEquals(put(s, next, overwrite = true), Right(next.copy(version = "0.0.2")))
    assertEquals(s.definitions.find("guest", "hello"), Some(next.copy(version = "0.0.2")))

  storage.test("an overwrite keeps options it does not set, and parameters unless they are replaced"): s =>
    val first = definition().copy(
      options = FlareOptions(granularity = Some(2), timeout = Some(5.millis)),
      parameters = JsonObject("a" -> Json.fromInt(1))
    )
    put(s, first)
    val next = definition().copy(
      options = FlareOptions(timeout = Some(7.millis), memory = Some(64)),
      parameters = JsonObject.empty
    )
    val merged = next.copy(
      version = "0.0.2",
      options = FlareOptions(granularity = Some(2), timeout = Some(7.millis), memory = Some(64)),
      parameters = first.parameters
    )
    assertEquals(put(s, next, replaceParameters = false), Right(merged))
    assertEquals(s.definitions.find("guest", "hello"), Some(merged))
    val emptied = put(s, next)
    assertEquals(emptied.map(_.parameters), Right(JsonObject.empty))

  storage.test("concurrent overwrites do not lose each other's options"): s =>
    put(s, definition().copy(options = FlareOptions()))
    val settings = Vector(
      FlareOptions(granularity = Some(2)),
      FlareOptions(timeout = Some(5.millis)),
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

  storage.test("concurrent creations have one winner, and concurrent overwrites get a version each"): s =>
    val pool = Executors.newFixedThreadPool(8)
    try
      def together[A](work: => A): Vector[A] =
        pool.invokeAll(Vector.fill[Callable[A]](16)(() => work).asJava).asScala.toVector.map(_.get)
      assertEquals(together(put(s, definition(), overwrite = false)).count(_.isRight), 1)
      val versions = together(put(s, definition(), overwrite = true)).flatMap(_.toOption).map(_.version)
      assertEquals(versions.toSet, (2 to 17).map(n => s"0.0.$n").toSet)
    finally pool.shutdownNow()

  storage.test("a list has one namespace's definitions, newest first, and is cut by limit and skip"): s =>
    Vector("a" -> 3L, "b" -> 1L, "c" -> 2L).foreach: (name, at) =>
      put(s, definition(name).copy(updated = Timestamp.ofMicros(at)), overwrite = false)
    put(s, definition("other", "elsewhere"), overwrite = false)
    assertEquals(s.definitions.list("guest", 10, 0).map(_.name), Vector("a", "c", "b"))
    assertEquals(s.definitions.list("guest", 1, 1).map(_.name), Vector("c"))
    assertEquals(s.definitions.find("elsewhere", "a"), None)

  storage.test("a definition is stored only with its package"): s =>
    val nowhere = PackageId.of(Array[Byte](9))
    intercept[PackageGone](put(s, definition(pkg = nowhere), overwrite = true))
    assertEquals(s.definitions.find("guest", "hello"), None)

  storage.test(
    "a namespace's limits on definitions and bytes hold, also for concurrent requests"
  ): s =>
    s.namespaces.create("guest")
    def bare(name: String, namespace: String = "guest") =
      definition(name, namespace).copy(parameters = JsonObject.empty)
    // Each has one byte and the two of its parameters.
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
    "parameters count towards a namespace's bytes, also if kept, and lists leave them out"
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

  private def versions(s: Storage, name: String = "hello") =
    s.definitions.versions("guest", name, 10, 0).map(_.version)

  storage.test("older versions stay unchanged, up to the number kept, newest first"): s =>
    val all =
      Vector.tabulate(5)(i =>
        definition(pkg = if i % 2 == 0 then package1 else package2).copy(updated = Timestamp.ofMicros(i))
      )
    val stored = all.map(put(s, _)).flatMap(_.toOption)
    assertEquals(stored.map(_.version), Vector.tabulate(5)(i => s"0.0.${i + 1}"))
    assertEquals(versions(s), Vector("0.0.5", "0.0.4", "0.0.3"))
    assertEquals(s.definitions.versions("guest", "hello", 1, 1).map(_.version), Vector("0.0.4"))
    stored.drop(2).foreach: version =>
      assertEquals(s.definitions.find("guest", "hello", version.version), Some(version))
    Seq("0.0.2", "0.0.6", "0.0.0", "0.0.05", "0.1.5", "5", "").foreach: version =>
      assertEquals(s.definitions.find("guest", "hello", version), None, version)
    assertEquals(s.definitions.find("other", "hello", "0.0.5"), None)

  storage.test("a change returns the packages that went with the versions it dropped"): s =>
    put(s, definition(pkg = package2))
    put(s, definition())
    put(s, definition())
    val copy = s.packages.store(package1, Array(1))
    val change = s.definitions.put(definition(), copy, overwrite = true, limits)
    assertEquals(change.map(_.released), Right(Set(package2)))
    assertEquals(s.definitions.delete("guest", "hello").map(_.released), Some(Set(package1)))
    assertEquals(versions(s), Vector.empty)

  storage.test("a name that is deleted and deployed again starts a new history"): s =>
    put(s, definition())
    put(s, definition(pkg = package2))
    s.definitions.delete("guest", "hello")
    put(s, definition())
    assertEquals(versions(s), Vector("0.0.1"))

  storage.test(
    "a rollback makes a new version that equals an older one, even in what that left unset"
  ): s =>
    val first = definition().copy(options = FlareOptions(memory = Some(64)), updated = Timestamp.ofMicros(1))
    put(s, first)
    val second =
      definition(pkg = package2).copy(parameters = JsonObject.empty, updated = Timestamp.ofMicros(2))
    put(s, second)
    def back(version: Option[String], now: Long) =
      s.definitions.rollBack("guest", "hello", version, limits, Timestamp.ofMicros(now)).map(_.definition)
    val third = first.copy(version = "0.0.3", updated = Timestamp.ofMicros(3))
    assertEquals(back(None, 3), Right(third))
    assertEquals(s.definitions.find("guest", "hello"), Some(third))
    val fourth = back(Some("0.0.2"), 4)
    assertEquals(fourth.map(_.version), Right("0.0.4"))
    assertEquals(fourth.map(_.packageId), Right(package2))
    assertEquals(versions(s), Vector("0.0.4", "0.0.3", "0.0.2"))
    assertEquals(back(Some("0.0.1"), 5), Left(DeployRefusal.NoSuchVersion("0.0.1")))

  storage.test("a rollback without an older version is refused"): s =>
    def back = s.definitions.rollBack("guest", "hello", None, limits, Timestamp.ofMicros(1))
    assertEquals(back, Left(DeployRefusal.Missing))
    put(s, definition())
    assertEquals(back, Left(DeployRefusal.NoVersionBefore))

  storage.test("older versions use the bytes that present ones leave, and the oldest are dropped"): s =>
    def bare(name: String, size: Long, at: Long) =
      definition(name).copy(
        parameters = JsonObject.empty,
        packageSize = size,
        updated = Timestamp.ofMicros(at)
      )
    // Each also has two bytes of parameters.
    val few = limits.copy(definitionBytes = 12)
    put(s, bare("a", 1, 1), limits = few)
    put(s, bare("b", 1, 2), limits = few)
    put(s, bare("a", 1, 3), limits = few)
    put(s, bare("b", 1, 4), limits = few)
    assertEquals((versions(s, "a"), versions(s, "b")), (Vector("0.0.2", "0.0.1"), Vector("0.0.2", "0.0.1")))
    put(s, bare("a", 2, 5), limits = few)
    assertEquals((versions(s, "a"), versions(s, "b")), (Vector("0.0.3", "0.0.2"), Vector("0.0.2")))
    val others = put(s, bare("c", 3, 6), limits = few)
    assert(others.isRight, "older versions give way")
    assertEquals((versions(s, "a"), versions(s, "b")), (Vector("0.0.3"), Vector("0.0.2")))
    assertEquals(
      s.definitions.rollBack(
        "guest",
        "a",
        Some("0.0.3"),
        few.copy(definitionBytes = 11),
        Timestamp.ofMicros(7)
      ),
      Left(DeployRefusal.TooLarge(12, 11))
    )

  private def token(value: String)(using s: Storage) = SealedSecret("TOKEN", keyOf(s), value)

  private def keyOf(s: Storage) =
    s.secrets.seal(DefinitionName("guest", "hello"), Map("A" -> "")).fold(fail("no key"))(_.head.keyId)

  private def change(s: Storage, changes: VariableChanges) =
    val copy = s.packages.store(package1, Array(1))
    s.definitions.put(definition(), copy, true, limits, true, changes).map(_.definition)

  private def deployed(s: Storage, changes: VariableChanges) =
    change(s, changes).fold(refusal => fail(s"$refusal"), identity)

  storage.test(
    "variables are kept until changed, each version has its own, and all versions share the secrets"
  ): s =>
    given Storage = s
    val a = VariableChanges(Some(Map("A" -> "é\n😀")), Vector(token("AAAA")))
    val first = deployed(s, a)
    assertEquals(first.environment, SealedEnvironment(Map("A" -> "é\n😀"), Vector(token("AAAA"))))
    assertEquals(deployed(s, VariableChanges()).environment, first.environment)
    val third = deployed(s, VariableChanges(Some(Map("B" -> "2")), Vector(token("BBBB"))))
    assertEquals(s.definitions.find("guest", "hello"), Some(third))
    val old = s.definitions.find("guest", "hello", "0.0.1").map(_.environment)
    assertEquals(old, Some(SealedEnvironment(Map("A" -> "é\n😀"), Vector(token("BBBB")))))
    val back = s.definitions.rollBack("guest", "hello", Some("0.0.1"), limits, Timestamp.ofMicros(1))
    assertEquals(back.map(_.definition.environment), Right(old.get))
    val without = deployed(s, VariableChanges(Some(Map.empty), removed = Set("TOKEN")))
    assertEquals(without.environment, SealedEnvironment.Empty)
    assertEquals(s.definitions.list("guest", 1, 0).map(_.environment), Vector(SealedEnvironment.Empty))

  storage.test("a program's variables are limited in number and bytes, including those that are kept"): s =>
    given Storage = s
    def some(range: Range) = range.map(i => s"V$i" -> "").toMap
    deployed(s, VariableChanges(Some(some(0 until 99)), Vector(token("A" * 40))))
    val more = VariableChanges(Some(some(0 until 100)))
    assertEquals(change(s, more), Left(DeployRefusal.TooManyVariables(101)))
    val full = 64 * 1024 - 5 - 2
    deployed(s, VariableChanges(Some(Map("A" -> "x" * (full - 1)))))
    assertEquals(
      change(s, VariableChanges(Some(Map("AB" -> "é" * (full / 2 + 1))))),
      Left(DeployRefusal.VariablesTooLarge(5 + 2 + 2 + 2L * (full / 2 + 1)))
    )

  storage.test("a secret overrides an older version's variable of its name, which no longer counts"): s =>
    given Storage = s
    deployed(s, VariableChanges(Some(Map("TOKEN" -> "x" * 60_000, "A" -> "1"))))
    deployed(s, VariableChanges(Some(Map.empty), Vector(token("A" * 60_000))))
    val there = s.definitions.find("guest", "hello", "0.0.1").map(_.environment)
    assertEquals(there, Some(SealedEnvironment(Map("A" -> "1"), Vector(token("A" * 60_000)))))
    val back = s.definitions.rollBack("guest", "hello", Some("0.0.1"), limits, Timestamp.ofMicros(1))
    assertEquals(back.map(_.definition.environment), Right(there.get))
    assertEquals(s.definitions.find("guest", "hello").map(_.environment), there)

  storage.test("a secret sealed by another key than the database's is refused"): s =>
    given Storage = s
    val other = SealedSecret("TOKEN", "other", "AAAA")
    val refusal = Left(DeployRefusal.OtherKey("other", keyOf(s)))
    assertEquals(change(s, VariableChanges(secrets = Vector(other))), refusal)
    assertEquals(s.definitions.find("guest", "hello"), None)
    deployed(s, VariableChanges(secrets = Vector(token("AAAA"))))
    assertEquals(change(s, VariableChanges(secrets = Vector(other))), refusal)
    deployed(s, VariableChanges(removed = Set("TOKEN")))

  storage.test("variables and secrets count towards a namespace's bytes, secrets only once"): s =>
    given Storage = s
    def deployWith(changes: VariableChanges, bytes: Long) =
      val copy = s.packages.store(package1, Array(1))
      val wanted = definition().copy(parameters = JsonObject.empty, packageSize = 1)
      s.definitions.put(wanted, copy, true, limits.copy(definitionBytes = bytes), true, changes)
    // The package, the braces of the empty parameters, and the text between the braces of the variables.
    val one = 1 + 2 + 10
    val environment = VariableChanges(Some(Map("A" -> "1234")))
    assertEquals(deployWith(environment, one - 1), Left(DeployRefusal.TooLarge(one, one - 1)))
    assert(deployWith(environment, one).isRight)
    val sealedBytes = Vector(token("AAAA")).asJson.noSpaces.length - 2
    val secret = VariableChanges(secrets = Vector(token("AAAA")))
    assertEquals(deployWith(secret, one), Left(DeployRefusal.TooLarge(one + sealedBytes, one)))
    assert(deployWith(secret, 2 * one + sealedBytes).isRight)
    assertEquals(versions(s, "hello"), Vector("0.0.2", "0.0.1"))
    assert(deployWith(VariableChanges(), 2 * one + sealedBytes).isRight)
    assertEquals(versions(s, "hello"), Vector("0.0.3", "0.0.2"))

  storage.test("a package is needed as long as a version that uses it is kept"): s =>
    val own = PackageId.of(Array[Byte](7))
    val copy = s.packages.store(own, Array(7))
    assert(s.definitions.put(definition(pkg = own), copy, overwrite = true, limits).isRight)
    (1 until Samples.versions).foreach(_ => put(s, definition()))
    s.packages.removeUnneeded()
    assert(s.packages.size(own).isDefined)
    put(s, definition())
    s.packages.removeUnneeded()
    assertEquals(s.packages.size(own), None)
