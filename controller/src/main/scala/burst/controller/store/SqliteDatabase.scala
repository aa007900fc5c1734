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
  * With `synchronous` FULL a commit is on disk when it returns, which takes milliseconds; with NORMAL the
  * operating system has it, so it survives a killed process. A power failure may then lose the last commits,
  * but never the database's consistency, nor anything committed before a commit with FULL.
  *
  * SQLite allows one writer at a time, and makes others poll for the lock. Writes therefore share one
  * connection, whose pool hands it on immediately; readers see the last commit and wait for nobody.
  */
object SqliteDatabase:
  /** @param flushAll
    *   whether each transaction survives a power failure
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
    // With one writer at a time, row locks are unnecessary.
    val none = SQLSyntax.empty
    // The mode that the only writer connection was last set to.
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
    // This also bounds the wait for the replacement of a discarded connection, which can be opened only once
    // the disk has room.
    config.setConnectionTimeout(timeout.toMillis)
    config.setValidationTimeout(timeout.toMillis)
    HikariDataSource(config)
