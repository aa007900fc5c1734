package burst.controller.store

import burst.controller.blob.BlobStoreException
import java.io.IOException
import java.nio.file.{Files, Path}
import java.sql.{DriverManager, SQLException}
import munit.FunSuite
import scala.util.Using

class StoreProblemSuite extends FunSuite:
  test("a full disk is recognized by the operating system's message, anywhere in the failure"):
    val written = intercept[IOException](Files.write(Path.of("/dev/full"), Array[Byte](1)))
    for failure <- Vector(written, BlobStoreException("storing", written), StoreException("storing", written))
    do
      assertEquals(StoreProblem.of(failure), StoreProblem.DiskFull)

  test("a full database is recognized by its code"):
    val full = Using.resource(DriverManager.getConnection("jdbc:sqlite::memory:")): connection =>
      Using.resource(connection.createStatement): statement =>
        for sql <- Vector("CREATE TABLE t (b BLOB)", "PRAGMA max_page_count = 10") do statement.execute(sql)
        intercept[SQLException](statement.execute("INSERT INTO t VALUES (zeroblob(1000000))"))
    assertEquals(StoreProblem.of(StoreException("storing", full)), StoreProblem.DiskFull)
    val server = SQLException("could not extend file", "53100")
    assertEquals(StoreProblem.of(StoreException("storing", server)), StoreProblem.DatabaseFull)

  test("other failures are attributed to their store"):
    val away = RuntimeException("no answer")
    assertEquals(StoreProblem.of(StoreException("reading", away)), StoreProblem.DatabaseAway)
    assertEquals(StoreProblem.of(BlobStoreException("reading", away)), StoreProblem.BlobsAway)
    assertEquals(StoreProblem.of(IOException("Permission denied")), StoreProblem.BlobsAway)
