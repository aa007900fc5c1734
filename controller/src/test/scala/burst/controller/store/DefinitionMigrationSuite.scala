package burst.controller.store

import burst.controller.definition.{FlareOptions, SealedEnvironment}
import burst.controller.http.HttpSuite
import burst.controller.store.Samples.*
import io.circe.Json
import java.nio.file.Path
import java.sql.DriverManager
import org.flywaydb.core.Flyway
import scala.util.Using

/** Definitions of a release that kept one version of each and had no environment variables. */
class DefinitionMigrationSuite extends StorageFixtures:
  // Each test opens its own.
  def isShared: Boolean = false
  def opener(root: Path): () => Storage = () => Storage.open(settings(root), limits)

  directory.test("an old definition is the present version, and kept when replaced, in SQLite"): root =>
    keeps(s"jdbc:sqlite:${root.resolve("burst.db")}", "", "", "sqlite")(opener(root)())

  directory.test("an old definition is the present version, and kept when replaced, in PostgreSQL"): root =>
    val at = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    keeps(s"jdbc:${at.url}", at.user, at.password, "postgresql"):
      Storage.open(settings(root, Some(at)), limits)

  private def keeps(url: String, user: String, password: String, kind: String)(open: => Storage): Unit =
    DefinitionMigrationSuite.deploy(url, user, password, kind)
    val opened = open
    try
      val old = opened.definitions.find("guest", "hello").getOrElse(fail("the definition is missing"))
      assertEquals((old.version, old.options), ("0.0.7", FlareOptions(memory = Some(64))))
      assertEquals(old.environment, SealedEnvironment.Empty)
      assertEquals(put(opened, definition(pkg = package2)).map(_.version), Right("0.0.8"))
      assertEquals(opened.definitions.find("guest", "hello", "0.0.7"), Some(old))
      assertEquals(
        opened.definitions.versions("guest", "hello", 9, 0).map(_.version),
        Vector("0.0.8", "0.0.7")
      )
    finally opened.close()

object DefinitionMigrationSuite:
  /** Stores a definition as that release did. */
  private[store] def deploy(url: String, user: String, password: String, kind: String): Unit =
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

/** The same definition as OpenWhisk's clients see it. */
class MigratedActionSuite extends HttpSuite:
  override def beforeAll(): Unit =
    val file = Path.of(config.getString("burst.store.directory"), "burst.db")
    DefinitionMigrationSuite.deploy(s"jdbc:sqlite:$file", "", "", "sqlite")
    super.beforeAll()

  test("an old definition is an action with the annotation of its kind, and can be called"):
    val action = "/api/v1/namespaces/_/actions/hello"
    val found = send("GET", action)
    assertEquals(found.status, 200, found.body)
    val whole = found.json.hcursor
    assertEquals(
      (whole.get[String]("namespace"), whole.get[String]("name")),
      (Right("guest"), Right("hello"))
    )
    assertEquals(whole.get[String]("version"), Right("0.0.7"))
    assertEquals(whole.get[Json]("annotations").map(_.noSpaces), Right("""[{"key":"exec","value":"rust"}]"""))
    assertEquals(whole.downField("limits").get[Int]("memory"), Right(64))
    val exec = whole.downField("exec")
    assertEquals((exec.get[String]("kind"), exec.get[String]("code")), (Right("rust"), Right("AQ==")))
    assertEquals(send("POST", action, Some("{}")).status, 202)
    assertEquals(service.last.get.map(_.definition.version), Some("0.0.7"))
