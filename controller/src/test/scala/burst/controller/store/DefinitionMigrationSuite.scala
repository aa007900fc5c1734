package burst.controller.store

import burst.controller.definition.{FlareOptions, SealedEnvironment}
import burst.controller.store.Samples.*
import java.nio.file.Path
import java.sql.DriverManager
import org.flywaydb.core.Flyway
import scala.util.Using

/** Definitions of a release that kept one version of each, and knew of no environment variables. */
class DefinitionMigrationSuite extends StorageFixtures:
  // Each test opens its own.
  def isShared: Boolean = false
  def opener(root: Path): () => Storage = () => Storage.open(settings(root), limits)

  directory.test("what was deployed is the present version, and kept when it is replaced, in SQLite"): root =>
    keeps(s"jdbc:sqlite:${root.resolve("burst.db")}", "", "", "sqlite")(opener(root)())

  directory.test("what was deployed is the present version, and kept when it is replaced, in PostgreSQL"):
    root =>
      val at = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
      keeps(s"jdbc:${at.url}", at.user, at.password, "postgresql"):
        Storage.open(settings(root, Some(at)), limits)

  private def keeps(url: String, user: String, password: String, kind: String)(open: => Storage): Unit =
    Flyway
      .configure()
      .dataSource(url, user, password)
      .locations(s"classpath:db/migration/$kind")
      .target("11")
      .load()
      .migrate()
    Using.resource(DriverManager.getConnection(url, user, password)): connection =>
      Using.resource(connection.createStatement()): statement =>
        statement.execute(s"""
          INSERT INTO definition
            (namespace, name, revision, kind, package_id, package_size, options, parameters, updated)
          VALUES ('guest', 'hello', 7, 'rust', '${package1.value}', 1, '{"memory":64}', '{}', 5)""")
    val opened = open
    try
      val old = opened.definitions.find("guest", "hello").getOrElse(fail("it is gone"))
      assertEquals((old.version, old.options), ("0.0.7", FlareOptions(memory = Some(64))))
      assertEquals(old.environment, SealedEnvironment.Empty)
      assertEquals(put(opened, definition(pkg = package2)).map(_.version), Right("0.0.8"))
      assertEquals(opened.definitions.find("guest", "hello", "0.0.7"), Some(old))
      assertEquals(
        opened.definitions.versions("guest", "hello", 9, 0).map(_.version),
        Vector("0.0.8", "0.0.7")
      )
    finally opened.close()
