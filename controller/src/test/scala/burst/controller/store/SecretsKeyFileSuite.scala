package burst.controller.store

import burst.controller.definition.VariableChanges
import burst.controller.secrets.{DefinitionName, SecretsKey}
import burst.node.SetupException
import java.nio.file.{Files, Path}
import java.util.concurrent.{Callable, Executors}
import scala.jdk.CollectionConverters.*

/** Which key a database's secrets are sealed by, on any database. */
abstract class SecretsKeyFileContract extends StorageFixtures:
  protected def key(root: Path) =
    SecretsKey.read(root.resolve("secrets.key")).getOrElse(fail("there is no key"))

  /** Stores a definition with a secret, and says whether a storage can open it. */
  private def deploy(s: Storage): Unit =
    val hello = DefinitionName("guest", "hello")
    val secrets = s.secrets.seal(hello, Map("TOKEN" -> "hunter2")).getOrElse(fail("no key"))
    val copy = s.packages.store(Samples.package1, Array(1))
    val changes = VariableChanges(secrets = secrets)
    assert(s.definitions.put(Samples.definition(), copy, true, Samples.limits, variables = changes).isRight)

  private def opens(s: Storage): Boolean =
    val there = s.definitions.find("guest", "hello").getOrElse(fail("not deployed"))
    s.secrets.open(DefinitionName("guest", "hello"), there.environment).isRight

  directory.test("the first start makes the key, later ones use it"): root =>
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
    "without its key a controller starts, and says of secrets what it lacks; with it all is well"
  ): root =>
    val open = opener(root)
    val first = open()
    deploy(first)
    first.close()
    val (file, away) = (root.resolve("secrets.key"), root.resolve("away"))
    Files.move(file, away)
    val without = open()
    assert(!Files.exists(file), "it makes none of its own")
    assert(!opens(without))
    assertEquals(without.secrets.seal(DefinitionName("guest", "hello"), Map("A" -> "1")), None)
    without.close()
    Files.move(away, file)
    val again = open()
    assert(opens(again))
    again.close()

  directory.test("another key than that of the secrets ends the start, and is good where there are none"):
    root =>
      val open = opener(root)
      val first = open()
      val file = root.resolve("secrets.key")
      def another() =
        Files.delete(file)
        SecretsKey.create(file).getOrElse(fail("there is one"))
      first.close()
      another()
      val second = open()
      deploy(second)
      second.close()
      val used = key(root).id
      val unfit = another()
      val told = intercept[SetupException](open()).getMessage
      assert(told.contains(used) && told.contains(unfit.id), told)

class SqliteSecretsKeyFileSuite extends SecretsKeyFileContract, EmbeddedStorage
class PostgresSecretsKeyFileSuite extends SecretsKeyFileContract, PostgresStorage:
  /** What controllers find that start at once, each with its file. */
  private def settled(files: Vector[Path]): Vector[Option[SecretsKey]] =
    val database =
      PostgresDatabase.open(PostgresServer.shared.settings(PostgresServer.shared.createDatabase()))
    val pool = Executors.newFixedThreadPool(files.size)
    try
      val starts =
        files.map[Callable[Option[SecretsKey]]](file => () => SecretsKeyFile.settle(file, database))
      pool.invokeAll(starts.asJava).asScala.toVector.map(_.get)
    finally
      pool.shutdownNow()
      database.close()

  directory.test("of controllers that start at once in one directory all have the same key"): root =>
    val keys = settled(Vector.fill(16)(root.resolve("secrets.key")))
    assertEquals(keys.flatten.map(_.id), Vector.fill(16)(key(root).id))
    assertEquals(Files.list(root).count(), 1L)

  directory.test("of controllers that start at once in their own directories one has the key"): root =>
    val files = Vector.tabulate(4)(i => root.resolve(s"$i/secrets.key"))
    val keys = settled(files)
    assertEquals(keys.flatten.size, 1)
    assertEquals(files.map(Files.exists(_)), keys.map(_.isDefined))
