package burst.controller.store

import burst.controller.flare.{FlareState, WorkerResult}
import burst.controller.store.Samples.*
import burst.protocol.Inputs
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions
import scala.concurrent.duration.DurationInt
import scala.jdk.StreamConverters.*

class SqliteDefinitionStoreSuite extends DefinitionStoreContract, EmbeddedStorage
class SqliteActivationStoreSuite extends ActivationStoreContract, EmbeddedStorage
class SqliteFlareStoreSuite extends FlareStoreContract, EmbeddedStorage
class SqliteSubmissionSuite extends SubmissionStoreContract, EmbeddedStorage
class SqliteSharedChangesSuite extends SharedChangesContract, EmbeddedStorage
class SqliteActionPackageStoreSuite extends ActionPackageStoreContract, EmbeddedStorage
class SqliteNamespaceStoreSuite extends NamespaceStoreContract, EmbeddedStorage
class SqliteTriggerStoreSuite extends TriggerStoreContract, EmbeddedStorage
class SqliteAlarmStoreSuite extends AlarmStoreContract, EmbeddedStorage

/** What only the embedded database does. */
class SqliteStoresSuite extends munit.FunSuite, EmbeddedStorage:
  directory.test("stored data survives a restart, even of a process that was killed"): root =>
    val first = open(root)
    val running = flare()
    first.flares.insert(running)
    val credentials = first.namespaces.create("guest").getOrElse(fail("not created"))
    // Not closed, as after a killed process.
    val second = open(root)
    assertEquals(
      second.flares.takeUnfinished(),
      Vector(running.copy(request =
        running.request.copy(inputs = Inputs.OutOfLine(running.request.inputs.text.length))
      ))
    )
    val Array(uuid, key) = credentials.split(":"): @unchecked
    assert(second.namespaces.authenticate(uuid, key).isDefined)
    first.close()
    second.close()

  directory.test("other users cannot read what is stored"): root =>
    val own = root.resolve("controller")
    open(own).close()
    assertEquals(PosixFilePermissions.toString(Files.getPosixFilePermissions(own)), "rwx------")

  directory.test("no key is in the database's files"): root =>
    val storage = open(root)
    val key = storage.namespaces.create("guest").getOrElse(fail("not created")).split(":")(1)
    val held =
      Files.list(root).toScala(Vector).filter(Files.isRegularFile(_)).map(Files.readString(_, charset))
    assert(held.nonEmpty && held.forall(!_.contains(key)))
    storage.close()

  directory.test("inputs are deleted from the database when the flare has ended"): root =>
    val storage = open(root)
    val f = flare()
    storage.flares.insert(f)
    storage.flares.update(grown(f, burst.controller.flare.FlareState.Succeeded))
    storage.close()
    val database = SqliteDatabase.open(root, 1, 60.seconds, flushAll = false)
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

  directory.test("a transaction is flushed to the disk if it must survive power loss, or if all are"): root =>
    import scalikejdbc.*
    def flushed(database: Database, durability: Durability): Boolean =
      database.write("looking", durability)(sql"PRAGMA synchronous".map(_.int(1)).single()).contains(2)
    val database = SqliteDatabase.open(root, 1, 60.seconds, flushAll = false)
    val turns = Vector(Durability.Process, Durability.Power, Durability.Process)
    assertEquals(turns.map(flushed(database, _)), Vector(false, true, false))
    database.close()
    val flushing = SqliteDatabase.open(root, 1, 60.seconds, flushAll = true)
    assertEquals(turns.map(flushed(flushing, _)).toSet, Set(true))
    flushing.close()

  directory.test("a full disk fails only the writes of that time"): root =>
    val storage = open(root)
    try
      val ending = flare()
      storage.flares.insert(ending)
      def end(): Unit =
        val results = Vector(WorkerResult(0, Some(short("\"" + "x" * 4000000 + "\"")), None))
        val ended = FlareChange.Record.Next(grown(ending, FlareState.Succeeded))
        val _ = storage.flares.write(FlareChange(ending.id, ended, results))
      FileSizeLimit.during(Files.size(root.resolve("burst.db-wal")) + 8192):
        // The first one exceeds the memory and fails midway, the others when they are committed.
        intercept[StoreException](end())
        (1 to 3).foreach(_ => intercept[StoreException](storage.flares.insert(flare(name = "x" * 8192))))
        assertEquals(storage.flares.find(ending.id).map(_.state), Some(FlareState.Queued), "reads still work")
      storage.flares.insert(flare())
      end()
      assertEquals(storage.flares.find(ending.id).map(_.state), Some(FlareState.Succeeded))
      assert(storage.namespaces.create("another").isDefined)
    finally storage.close()

  private def charset = java.nio.charset.StandardCharsets.ISO_8859_1
