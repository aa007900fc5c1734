package burst.controller.store

import burst.controller.metrics.DatabaseMetrics
import burst.node.metrics.MetricsRegistry
import com.zaxxer.hikari.{HikariConfig, HikariDataSource}
import java.nio.file.{Files, Path}
import java.sql.Connection
import org.sqlite.{SQLiteConfig, SQLiteConnection, SQLiteDataSource}
import scala.concurrent.duration.FiniteDuration
import scala.util.Using
import scalikejdbc.SQLSyntax

/** The embedded database: one file in write-ahead mode.
  *
  * With `synchronous` FULL a commit is on the disk when it returns, which takes milliseconds; with NORMAL it
  * is in the operating system's hands, which a killed process cannot take back. A failure of power may then
  * lose the last commits, never the database's consistency, nor what was committed before one with FULL.
  *
  * SQLite knows one writer at a time, and makes others poll for the lock. Writes therefore share one
  * connection, whose pool hands it on at once; readers see the last commit and wait for nobody.
  */
object SqliteDatabase:
  /** @param flushAll
    *   whether each transaction survives a failure of power
    */
  def open(
      directory: Path,
      readConnections: Int,
      busyTimeout: FiniteDuration,
      flushAll: Boolean,
      metrics: DatabaseMetrics = DatabaseMetrics(MetricsRegistry())
  ): Database =
    Files.createDirectories(directory)
    val source = SQLiteDataSource(settings(busyTimeout))
    source.setUrl(s"jdbc:sqlite:${directory.resolve("burst.db")}")
    val writer = pool("burst-store-writer", source, 1, busyTimeout)
    Migrations(writer, "db/migration/sqlite").migrate(others = 0)
    // One writer at a time has all rows to itself.
    val none = SQLSyntax.empty
    // The only writer's, which keeps what it was told last.
    var told = Option.empty[(Connection, String)]
    def prepare(connection: Connection, durability: Durability): Unit =
      val mode = if flushAll || durability == Durability.Power then "FULL" else "NORMAL"
      val now = Some((connection.unwrap(classOf[SQLiteConnection]), mode))
      if told != now then
        val _ = Using.resource(connection.createStatement)(_.execute(s"PRAGMA synchronous = $mode"))
        told = now
    Database(
      pool("burst-store-reader", source, readConnections, busyTimeout),
      writer,
      prepare,
      none,
      none,
      oneWriter = true,
      Validity.UntilChanged(),
      metrics
    )

  private def settings(busyTimeout: FiniteDuration): SQLiteConfig =
    val config = SQLiteConfig()
    config.setJournalMode(SQLiteConfig.JournalMode.WAL)
    config.enforceForeignKeys(true)
    config.setBusyTimeout(busyTimeout.toMillis.toInt)
    // A transaction that first reads and then writes must not find that another process wrote in between.
    config.setTransactionMode(SQLiteConfig.TransactionMode.IMMEDIATE)
    config

  private def pool(
      name: String,
      source: SQLiteDataSource,
      size: Int,
      timeout: FiniteDuration
  ): HikariDataSource =
    val config = HikariConfig()
    config.setPoolName(name)
    config.setDataSource(source)
    config.setMaximumPoolSize(size)
    config.setMaxLifetime(0)
    // For one that is thrown away, too, another can be had only when the disk has room.
    config.setConnectionTimeout(timeout.toMillis)
    config.setValidationTimeout(timeout.toMillis)
    HikariDataSource(config)
