package burst.controller.store

import burst.controller.definition.VariableChanges
import burst.controller.secrets.{DefinitionName, SecretsKey}
import burst.node.SetupException
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.{Callable, ExecutionException, Executors}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*
import scalikejdbc.*

/** Which key seals a database's secrets, on any database. */
abstract class SecretsKeyFileContract extends StorageFixtures:
  protected def key(root: Path) =
    SecretsKey.read(root.resolve("secrets.key")).getOrElse(fail("there is no key"))

  /** Stores a definition with a secret; `opens` checks whether a storage can open it. */
  private def deploy(s: Storage): Unit =
    val hello = DefinitionName("guest", "hello")
    val secrets = s.secrets.seal(hello, Map("TOKEN" -> "hunter2")).getOrElse(fail("no key"))
    val copy = s.packages.store(Samples.package1, Array(1))
    val changes = VariableChanges(secrets = secrets)
    val stored = s.definitions.put(Samples.definition(), copy, true, Samples.limits, variables = changes)
    assert(stored.isRight, stored.toString)

  private def opens(s: Storage): Boolean =
    val there = s.definitions.find("guest", "hello").getOrElse(fail("not deployed"))
    s.secrets.open(DefinitionName("guest", "hello"), there.environment).isRight

  directory.test("the first start creates the key, and later ones use it"): root =>
    val open = opener(root)
    val first = open()
    val made = key(root).id
    deploy(first)
    first.close()
    val again = open()
    assertEquals(key(root).id, made)
    assert(opens(again))
    again.close()

  directory.test(
    "without its key a controller starts but cannot use secrets, until the key is back"
  ): root =>
    val open = opener(root)
    val first = open()
    deploy(first)
    first.close()
    val (file, away) = (root.resolve("secrets.key"), root.resolve("away"))
    Files.move(file, away)
    val without = open()
    assert(!Files.exists(file), "no new key is created")
    assert(!opens(without))
    assertEquals(without.secrets.seal(DefinitionName("guest", "hello"), Map("A" -> "1")), None)
    without.close()
    Files.move(away, file)
    val again = open()
    assert(opens(again))
    again.close()

  directory.test("a start with another key than that of the secrets fails, unless there are no secrets"):
    root =>
      val open = opener(root)
      val first = open()
      val file = root.resolve("secrets.key")
      def another() =
        Files.delete(file)
        SecretsKey.create(file).getOrElse(fail("a key already exists"))
      first.close()
      another()
      val second = open()
      deploy(second)
      second.close()
      val used = key(root).id
      val unfit = another()
      val told = intercept[SetupException](open()).getMessage
      assert(told.contains(used) && told.contains(unfit.id), told)

  directory.test("a controller whose key another one has replaced stores no secret with it"): root =>
    val open = opener(root)
    val first = open()
    val file = root.resolve("secrets.key")
    Files.delete(file)
    SecretsKey.create(file): Unit
    val second = open()
    val refused = intercept[AssertionError](deploy(first)).getMessage
    assert(refused.contains("OtherKey"), refused)
    assertEquals(second.definitions.find("guest", "hello"), None)
    deploy(second)
    assert(opens(second))
    second.close()
    first.close()

  directory.test("a dangling link fails the start, and is not followed forever"): root =>
    val file = root.resolve("secrets.key")
    Files.createSymbolicLink(file, root.resolve("nowhere"))
    val told = intercept[SetupException](opener(root)()).getMessage
    assert(told.contains(file.toString) && told.contains("link"), told)

class SqliteSecretsKeyFileSuite extends SecretsKeyFileContract, EmbeddedStorage
class PostgresSecretsKeyFileSuite extends SecretsKeyFileContract, PostgresStorage:
  /** The keys of controllers that start at the same time, each with its own file. */
  private def settled(files: Vector[Path]): Vector[Option[SecretsKey]] =
    val database =
      PostgresDatabase.open(PostgresServer.shared.settings(PostgresServer.shared.migratedDatabase()))
    val pool = Executors.newFixedThreadPool(files.size)
    try
      val starts =
        files.map[Callable[Option[SecretsKey]]](file => () => SecretsKeyFile.settle(file, database))
      pool.invokeAll(starts.asJava).asScala.toVector.map(_.get)
    finally
      pool.shutdownNow()
      database.close()

  directory.test("controllers that start together in one directory get the same key"): root =>
    val keys = settled(Vector.fill(16)(root.resolve("secrets.key")))
    assertEquals(keys.flatten.map(_.id), Vector.fill(16)(key(root).id))
    assertEquals(Files.list(root).count(), 1L)

  directory.test("of controllers that start together in separate directories one has the key"): root =>
    val files = Vector.tabulate(4)(i => root.resolve(s"$i/secrets.key"))
    val keys = settled(files)
    assertEquals(keys.flatten.size, 1)
    assertEquals(files.map(Files.exists(_)), keys.map(_.isDefined))

  directory.test("a lost key is replaced once the table is emptied"): root =>
    val database =
      PostgresDatabase.open(PostgresServer.shared.settings(PostgresServer.shared.migratedDatabase()))
    try
      val file = root.resolve("secrets.key")
      val lost = SecretsKeyFile.settle(file, database).map(_.id)
      Files.delete(file)
      assertEquals(SecretsKeyFile.settle(file, database), None)
      database.write("as the operator does")(sql"DELETE FROM secrets_key".update()): Unit
      val made = SecretsKeyFile.settle(file, database).map(_.id)
      assertEquals(made, Some(key(root).id))
      assertNotEquals(made, lost)
    finally database.close()

  directory.test("a key is not replaced while a secret sealed with it is being stored"): root =>
    val database =
      PostgresDatabase.open(PostgresServer.shared.settings(PostgresServer.shared.migratedDatabase()))
    val pool = Executors.newSingleThreadExecutor()
    try
      val file = root.resolve("secrets.key")
      val key = SecretsKeyFile.settle(file, database).getOrElse(fail("no key"))
      val other = root.resolve("other.key")
      SecretsKey.create(other): Unit
      val starting = database.write("storing a secret"):
        assertEquals(SecretsKeyFile.of(database), Some(key.id))
        val starting = pool.submit[Option[SecretsKey]](() => SecretsKeyFile.settle(other, database))
        // It waits for the row that is held here.
        def waits = database.read("looking"):
          sql"SELECT 1 FROM pg_locks WHERE NOT granted".map(_.int(1)).list().nonEmpty
        val limit = System.nanoTime + 20.seconds.toNanos
        while !waits && !starting.isDone && System.nanoTime < limit do Thread.onSpinWait()
        sql"""INSERT INTO definition (namespace, name, revision, kind, package_id, package_size, updated, options,
                parameters, secrets)
              VALUES ('guest', 'hello', 1, 'rust', '', 0, 0, '{}', '{}', '[1]')""".update()
        starting
      val told = intercept[ExecutionException](starting.get(30, SECONDS)).getCause.getMessage
      assert(told.contains(key.id), told)
    finally
      pool.shutdownNow()
      database.close()
