package burst.controller.store

import burst.controller.store.Samples.*
import java.nio.file.{Files, Path}
import java.util.Comparator
import scala.concurrent.duration.DurationInt
import scala.jdk.StreamConverters.*

/** An embedded storage in a directory that goes with the test. */
trait EmbeddedStorage extends munit.FunSuite:
  lazy val settings = StoreSettings(Path.of(""), 2, 5.seconds, 100, 3, Retention(10, 1.day, 1.hour, 10))

  def open(directory: Path): Storage = Storage.embedded(settings.copy(directory = directory), limits)

  lazy val directory: FunFixture[Path] = FunFixture(
    _ => Files.createTempDirectory("burst-store"),
    delete
  )

  lazy val storage: FunFixture[Storage] = FunFixture(
    _ =>
      val root = Files.createTempDirectory("burst-store")
      val storage = open(root)
      storage.copy(close = () =>
        storage.close()
        delete(root))
    ,
    _.close()
  )

  private def delete(root: Path): Unit =
    Files.walk(root).sorted(Comparator.reverseOrder).forEach(path => Files.delete(path))

class SqliteDefinitionStoreSuite extends DefinitionStoreContract, EmbeddedStorage
class SqliteFlareStoreSuite extends FlareStoreContract, EmbeddedStorage
class SqliteNamespaceStoreSuite extends NamespaceStoreContract, EmbeddedStorage

/** What is peculiar to the embedded database. */
class SqliteStoresSuite extends munit.FunSuite, EmbeddedStorage:
  directory.test("what was stored is there again after a start, also after a start that did not end"): root =>
    val first = open(root)
    val running = flare()
    first.flares.insert(running)
    val credentials = first.namespaces.create("guest", None).getOrElse(fail("not created"))
    // Not closed: as a killed process leaves it.
    val second = open(root)
    assertEquals(second.flares.unfinished(), Vector(running))
    val Array(uuid, key) = credentials.split(":"): @unchecked
    assert(second.namespaces.authenticate(uuid, key).isDefined)
    first.close()
    second.close()

  directory.test("no key is in the database's files"): root =>
    val storage = open(root)
    val key = storage.namespaces.create("guest", None).getOrElse(fail("not created")).split(":")(1)
    val held =
      Files.list(root).toScala(Vector).filter(Files.isRegularFile(_)).map(Files.readString(_, charset))
    assert(held.nonEmpty && held.forall(!_.contains(key)))
    storage.close()

  directory.test("inputs are gone from the database when the flare has ended"): root =>
    val storage = open(root)
    val f = flare()
    storage.flares.insert(f)
    storage.flares.update(grown(f, burst.controller.flare.FlareState.Succeeded))
    storage.close()
    val database = SqliteDatabase.open(root, 1, 1.second)
    import scalikejdbc.*
    assertEquals(
      database.read("counting")(sql"SELECT COUNT(*) FROM flare_inputs".map(_.int(1)).single()),
      Some(0)
    )
    database.close()

  directory.test("a closed database is a failure with the operation's name and no values"): root =>
    val storage = open(root)
    storage.close()
    val failure = intercept[StoreException](storage.namespaces.authenticate("secret-uuid", "secret-key"))
    assertEquals(failure.operation, "authenticating")
    assert(!failure.getMessage.contains("secret"))

  private def charset = java.nio.charset.StandardCharsets.ISO_8859_1
