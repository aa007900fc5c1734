package burst.controller.store

import com.zaxxer.hikari.{HikariConfig, HikariDataSource}
import java.net.URI
import java.sql.{Connection, DriverManager}
import java.util.Properties
import org.flywaydb.core.Flyway
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.Using
import scala.util.control.NonFatal
import scalikejdbc.*

/** Where PostgreSQL is and who we are there. `toString` shows no password.
  *
  * @param url
  *   `postgresql://host:port/database?options`, without user and password
  * @param connections
  *   for statements; the locks have a few more
  * @param connectTimeout
  *   how long a call waits for a connection, and a start for the server
  * @param statementTimeout
  *   how long a statement may take
  */
final case class PostgresSettings(
    url: URI,
    user: String,
    password: String,
    connections: Int,
    connectTimeout: FiniteDuration,
    statementTimeout: FiniteDuration
):
  override def toString: String = s"$user at $url"

/** A database that several controllers share.
  *
  * A server that dies or does not answer makes the calls of the time fail, each within `connectTimeout` and
  * `statementTimeout` together; the pool leaves dead connections behind and makes new ones as soon as it can.
  */
object PostgresDatabase:
  private val LockConnections = 4

  /** Throws [[StoreUnavailable]] when the server cannot be reached or does not let us in. */
  def open(settings: PostgresSettings): Database =
    val main =
      try pool("burst-store", settings, settings.connections)
      catch case NonFatal(cause) => throw StoreUnavailable(settings, root(cause))
    try
      migrate(main)
      Database(
        main,
        main,
        AdvisoryLocks(pool("burst-store-locks", settings, LockConnections)),
        rowLock = sqls"FOR UPDATE",
        sharedLock = sqls"FOR SHARE"
      )
    catch
      case NonFatal(cause) =>
        main.close()
        throw StoreUnavailable(settings, root(cause))

  /** A lock of this name among all who use the database, held until the connection is closed or breaks;
    * nothing when somebody else has it. Throws `SQLException`.
    */
  def lock(settings: PostgresSettings, name: String): Option[Connection] =
    val properties = Properties()
    properties.setProperty("user", settings.user)
    properties.setProperty("password", settings.password)
    driverProperties(settings).foreach(properties.setProperty(_, _))
    val connection = DriverManager.getConnection(s"jdbc:${settings.url}", properties)
    try
      Using.resource(connection.prepareStatement("SELECT pg_try_advisory_lock(hashtextextended(?, 0))")):
        statement =>
          statement.setString(1, name)
          val row = statement.executeQuery()
          if row.next() && row.getBoolean(1) then Some(connection)
          else
            connection.close()
            None
    catch
      case NonFatal(cause) =>
        connection.close()
        throw cause

  // Controllers that start together migrate one after the other: Flyway takes a lock for it.
  private def migrate(source: HikariDataSource): Unit =
    val _ = Flyway
      .configure()
      .dataSource(source)
      .locations("classpath:db/migration/postgresql")
      .load()
      .migrate()

  private def pool(name: String, settings: PostgresSettings, size: Int): HikariDataSource =
    val config = HikariConfig()
    config.setPoolName(name)
    config.setJdbcUrl(s"jdbc:${settings.url}")
    config.setUsername(settings.user)
    config.setPassword(settings.password)
    config.setMaximumPoolSize(size)
    config.setMinimumIdle(1)
    config.setConnectionTimeout(settings.connectTimeout.toMillis)
    config.setValidationTimeout(settings.connectTimeout.toMillis)
    config.setInitializationFailTimeout(settings.connectTimeout.toMillis)
    driverProperties(settings).foreach(config.addDataSourceProperty(_, _))
    HikariDataSource(config)

  private def driverProperties(settings: PostgresSettings): Map[String, String] =
    val connectTimeout = settings.connectTimeout.toSeconds.max(1).toString
    Map(
      "options" -> s"-c statement_timeout=${settings.statementTimeout.toMillis}",
      // The server ends its statement first, when it still can.
      "socketTimeout" -> (settings.statementTimeout + 5.seconds).toSeconds.toString,
      "connectTimeout" -> connectTimeout,
      "loginTimeout" -> connectTimeout,
      "tcpKeepAlive" -> "true",
      "ApplicationName" -> "burst",
      // A batch of rows is one statement and one round trip.
      "reWriteBatchedInserts" -> "true"
    )

  private def root(cause: Throwable): Throwable =
    Iterator.iterate(cause)(_.getCause).takeWhile(_ != null).toVector.last

/** The configured database cannot be used. */
final class StoreUnavailable(settings: PostgresSettings, cause: Throwable)
    extends IllegalStateException(
      s"the database ($settings) cannot be used: ${Option(cause.getMessage).getOrElse(cause.toString).trim}",
      cause
    )
