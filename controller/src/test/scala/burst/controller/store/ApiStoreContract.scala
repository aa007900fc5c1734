package burst.controller.store

import io.circe.{Json, JsonObject}
import java.util.concurrent.CountDownLatch

/** What every implementation of [[ApiStore]] must do. */
abstract class ApiStoreContract extends StorageFixtures:
  private val tenant = "0" * 32

  private def api(basePath: String, title: String = "Club", more: String = "é \u0000"): StoredApi =
    StoredApi("guest", basePath, title, JsonObject("more" -> Json.fromString(more)))

  private def put(s: Storage, api: StoredApi): Unit =
    assertEquals(
      s.apis.edit[Nothing]("guest", tenant, api.basePath)((_, _) => Right(Some(api))),
      Right(Some(api))
    )

  storage.test("an API is found by its base path and by its title"): s =>
    put(s, api("/club"))
    put(s, api("/other", "Other"))
    assertEquals(s.apis.find(tenant, "/club"), Some(api("/club")))
    assertEquals(s.apis.find("1" * 32, "/club"), None)
    assertEquals(s.apis.list(tenant, None, 10, 0).map(_.basePath), Vector("/club", "/other"))
    assertEquals(s.apis.list(tenant, None, 1, 1).map(_.basePath), Vector("/other"))
    assertEquals(s.apis.list(tenant, Some("Other"), 10, 0).map(_.basePath), Vector("/other"))
    assertEquals(s.apis.list(tenant, Some("/club"), 10, 0).map(_.title), Vector("Club"))
    assertEquals(s.apis.list(tenant, Some("nobody"), 10, 0), Vector.empty)

  storage.test("a change makes a new revision, and a refused one changes nothing"): s =>
    put(s, api("/club"))
    val before = s.apis.revisions(tenant)
    assertEquals(
      s.apis.edit("guest", tenant, "/club")((there, _) => Left(there.map(_.title))),
      Left(Some("Club"))
    )
    assertEquals(s.apis.revisions(tenant), before)
    put(s, api("/club", "New"))
    assert(s.apis.revisions(tenant) != before)
    assertEquals(s.apis.find(tenant, "/club").map(_.title), Some("New"))

  storage.test("an API can be removed by its title"): s =>
    put(s, api("/club"))
    put(s, api("/other", "Other"))
    assertEquals(s.apis.edit[Nothing]("guest", tenant, "Other")((_, _) => Right(None)), Right(None))
    assertEquals(s.apis.revisions(tenant).keySet, Set("/club"))

  storage.test("an edit receives the count and size of the other APIs"): s =>
    put(s, api("/club", more = "x" * 100))
    put(s, api("/other"))
    val _ = s.apis.edit("guest", tenant, "/other"): (_, beside) =>
      assertEquals(beside.count, 1)
      assert(beside.characters > 100 && beside.characters < 200, beside.toString)
      Left(())

  storage.test("concurrent changes are all kept"): s =>
    assert(s.namespaces.create("guest").isDefined)
    val (writers, each) = (4, 5)
    val start = CountDownLatch(1)
    val threads = Vector.tabulate(writers)(writer =>
      Thread: () =>
        start.await()
        (1 to each).foreach: n =>
          s.apis.edit[Nothing]("guest", tenant, "/club"): (there, _) =>
            val before = there.fold(JsonObject.empty)(_.document)
            Right(Some(StoredApi("guest", "/club", "Club", before.add(s"$writer-$n", Json.True))))
    )
    threads.foreach(_.start())
    start.countDown()
    threads.foreach(_.join())
    assertEquals(s.apis.find(tenant, "/club").map(_.document.size), Some(writers * each))

class SqliteApiStoreSuite extends ApiStoreContract, EmbeddedStorage
class PostgresApiStoreSuite extends ApiStoreContract, PostgresStorage
