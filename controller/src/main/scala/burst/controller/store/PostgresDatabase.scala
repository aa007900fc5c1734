package burst.controller.store

import com.zaxxer.hikari.{HikariConfig, HikariDataSource}
import java.net.URI
import org.flywaydb.core.Flyway
import scala.concurrent.duration.{DurationInt, FiniteDuration}
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
        sqls"FOR UPDATE"
      )
    catch
      case NonFatal(cause) =>
        main.close()
        throw StoreUnavailable(settings, root(cause))

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
    val milliseconds = settings.statementTimeout.toMillis
    config.addDataSourceProperty("options", s"-c statement_timeout=$milliseconds")
    // The server ends its statement first, when it still can.
    config.addDataSourceProperty("socketTimeout", (settings.statementTimeout + 5.seconds).toSeconds.toString)
    config.addDataSourceProperty("connectTimeout", settings.connectTimeout.toSeconds.max(1).toString)
    config.addDataSourceProperty("loginTimeout", settings.connectTimeout.toSeconds.max(1).toString)
    config.addDataSourceProperty("tcpKeepAlive", "true")
    config.addDataSourceProperty("ApplicationName", "burst")
    // A batch of rows is one statement and one round trip.
    config.addDataSourceProperty("reWriteBatchedInserts", "true")
    HikariDataSource(config)

  private def root(cause: Throwable): Throwable =
    Iterator.iterate(cause)(_.getCause).takeWhile(_ != null).toVector.last

/** The configured database cannot be used. */
final class StoreUnavailable(settings: PostgresSettings, cause: Throwable)
    extends IllegalStateException(
      s"the database ($settings) cannot be used: ${Option(cause.getMessage).getOrElse(cause.toString).trim}",
      cause
    )
