package burst.controller.store

import burst.controller.flare.{FlareState, LogText}
import burst.controller.store.Samples.*
import burst.protocol.{LogStream, PackId, Timestamp}
import java.nio.file.Path
import java.sql.{Connection, DriverManager}
import org.flywaydb.core.Flyway
import scala.util.Using

/** Logs of a release that stored each line as a row. */
class LogMigrationSuite extends StorageFixtures:
  // Each test opens its own.
  def isShared: Boolean = false
  def opener(root: Path): () => Storage = () => Storage.open(settings(root), limits)

  directory.test("a log stored as rows is still readable, in SQLite"): root =>
    keeps(s"jdbc:sqlite:${root.resolve("burst.db")}", "", "", "sqlite")(opener(root)())

  directory.test("a log stored as rows is still readable, in PostgreSQL"): root =>
    val at = PostgresServer.shared.settings(PostgresServer.shared.createDatabase())
    keeps(s"jdbc:${at.url}", at.user, at.password, "postgresql"):
      Storage.open(settings(root, Some(at)), limits)

  private def keeps(url: String, user: String, password: String, kind: String)(open: => Storage): Unit =
    Flyway
      .configure()
      .dataSource(url, user, password)
      .locations(s"classpath:db/migration/$kind")
      .target("5")
      .load()
      .migrate()
    val old = flare(state = FlareState.Succeeded)
    val lines = Vector((Some(1), "stdout", "ü\u0000\n "), (None, "stderr", ""), (Some(0), "stdout", "z"))
    Using.resource(DriverManager.getConnection(url, user, password)): connection =>
      insert(
        connection,
        "flare (id, namespace, name, package_id, state, created, ended, request, progress, parts, writer)"
      )(
        old.id.value,
        "guest",
        "hello",
        "",
        "succeeded",
        1L,
        2L,
        FlareColumns.request(old),
        FlareColumns.progress(old),
        FlareColumns.parts(old),
        ""
      )
      lines.foreach: (worker, stream, line) =>
        insert(connection, "flare_log (flare_id, worker, pack, stream, at, line)")(
          old.id.value,
          worker.map(Int.box).orNull,
          3,
          stream,
          At,
          Stored.free(line)
        )
    val opened = open
    try
      val texts = lines.map: (worker, stream, line) =>
        LogText(worker, PackId(3), LogStream.valueOf(stream.capitalize), Timestamp.ofMicros(At), line)
      assertEquals(opened.flares.logTexts(old.id), texts)
    finally opened.close()

  private val At = 1700000000000004L

  private def insert(connection: Connection, into: String)(values: (Any | Null)*): Unit =
    val placeholders = values.map(_ => "?").mkString(", ")
    val statement = connection.prepareStatement(s"INSERT INTO $into VALUES ($placeholders)")
    values.zipWithIndex.foreach:
      case (null, i) => statement.setNull(i + 1, java.sql.Types.INTEGER)
      case (value, i) => statement.setObject(i + 1, value)
    statement.executeUpdate()
