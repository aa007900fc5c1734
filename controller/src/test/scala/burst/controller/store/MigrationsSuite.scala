package burst.controller.store

import burst.node.SetupException
import java.nio.file.{Files, Path}
import org.sqlite.SQLiteDataSource
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** Databases that are opened by one release after another. */
class MigrationsSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val directory = FunFixture[Path](
    _ => Files.createTempDirectory("burst-migrations"),
    root =>
      Files.list(root).iterator.asScala.toVector.foreach(Files.delete)
      Files.delete(root)
  )

  private def open(root: Path, release: String, others: => Int = 0): Unit =
    val source = SQLiteDataSource()
    source.setUrl(s"jdbc:sqlite:${root.resolve("test.db")}")
    Migrations(source, s"db/releases/$release").migrate(others)

  directory.test("a release works with tables that the next one has only added to"): root =>
    open(root, "first")
    open(root, "adding", others = fail("other controllers need not be counted"))
    open(root, "first")

  directory.test("a release refuses tables that a newer one has broken, and explains what to do"): root =>
    open(root, "first")
    open(root, "breaking")
    open(root, "breaking")
    val told = intercept[SetupException](open(root, "first")).getMessage
    assert(told.contains("changed by a newer release (V2, breaking renamed)"), told)
    assert(told.contains("restore the backup"), told)

  directory.test("a breaking migration is refused while other controllers use the database"): root =>
    open(root, "first")
    val told = intercept[SetupException](open(root, "breaking", others = 2)).getMessage
    assert(told.contains("V2, breaking renamed") && told.contains("2 other controllers are up: stop"), told)
    open(root, "first")

  test("the members of a cluster are counted, without this process"):
    val settings = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    val own = AdvisoryLock(settings, AdvisoryLock.Members)
    assert(own.tryShared())
    assertEquals(AdvisoryLock.members(settings), 0)
    def elsewhere(name: String) =
      val session = PostgresDatabase.session(settings)
      Using.resource(session.createStatement()): statement =>
        statement.execute(s"SET application_name = '$name'")
        statement.execute(s"SELECT pg_advisory_lock_shared(hashtextextended('${AdvisoryLock.Members}', 0))")
      session
    val sessions = Vector("one", "one", "two").map(elsewhere)
    try assertEquals(AdvisoryLock.members(settings), 2)
    finally
      sessions.foreach(_.close())
      own.close()

  test("a migration may take longer than a statement, and later controllers wait for it"):
    val settings = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    Using.resource(PostgresDatabase.migrating(settings.copy(statementTimeout = 500.millis))): source =>
      Using.resource(source.getConnection()): connection =>
        Using.resource(connection.createStatement())(_.execute("SELECT pg_sleep(1)"))
        assertEquals(connection.getNetworkTimeout, 0)
      assertEquals(Migrations(source, "db/releases/first").flyway.getConfiguration.getLockRetryCount, -1)

  test("a migration that breaks the previous release is named so"):
    val removing = """(?i)\b(DROP\s+(TABLE|COLUMN)|RENAME|SET\s+NOT\s+NULL|ALTER\s+COLUMN)\b""".r
    val scripts = Vector("postgresql", "sqlite").flatMap: kind =>
      val folder = Path.of(getClass.getResource(s"/db/migration/$kind").toURI)
      Files.list(folder).iterator.asScala.toVector
    val number = """V(\d+)__(.*)\.sql""".r
    for script <- scripts do
      script.getFileName.toString match
        // Earlier releases did not run next to each other.
        case number(version, description) if version.toInt > 21 && !description.startsWith("breaking_") =>
          assertEquals(removing.findFirstIn(Files.readString(script)), None, script)
        case _ => ()
