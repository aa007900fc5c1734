package burst.controller.store

import com.zaxxer.hikari.{HikariConfig, HikariDataSource}
import java.nio.file.{Files, Path}
import org.flywaydb.core.Flyway
import org.sqlite.{SQLiteConfig, SQLiteDataSource}
import scala.concurrent.duration.FiniteDuration
import scalikejdbc.SQLSyntax

/** The embedded database: one file in write-ahead mode.
  *
  * `synchronous` is NORMAL: a commit is then in the operating system's hands when it returns, which a killed
  * process cannot take back, and costs no flush of the disk (FULL: one per state of a flare, milliseconds
  * each). A power failure may lose the last commits, never the database's consistency.
  *
  * SQLite knows one writer at a time, and makes others poll for the lock. Writes therefore share one
  * connection, whose pool hands it on at once; readers see the last commit and wait for nobody.
  */
object SqliteDatabase:
  def open(directory: Path, readConnections: Int, busyTimeout: FiniteDuration): Database =
    Files.createDirectories(directory)
    val source = SQLiteDataSource(settings(busyTimeout))
    source.setUrl(s"jdbc:sqlite:${directory.resolve("burst.db")}")
    val writer = pool("burst-store-writer", source, 1)
    Flyway
      .configure()
      .dataSource(writer)
      .locations("classpath:db/migration/sqlite")
      .load()
      .migrate()
    // One writer at a time has all rows to itself.
    val none = SQLSyntax.empty
    Database(pool("burst-store-reader", source, readConnections), writer, ProcessLocks(), none, none)

  private def settings(busyTimeout: FiniteDuration): SQLiteConfig =
    val config = SQLiteConfig()
    config.setJournalMode(SQLiteConfig.JournalMode.WAL)
    config.setSynchronous(SQLiteConfig.SynchronousMode.NORMAL)
    config.enforceForeignKeys(true)
    config.setBusyTimeout(busyTimeout.toMillis.toInt)
    // A transaction that first reads and then writes must not find that another process wrote in between.
    config.setTransactionMode(SQLiteConfig.TransactionMode.IMMEDIATE)
    config

  private def pool(name: String, source: SQLiteDataSource, size: Int): HikariDataSource =
    val config = HikariConfig()
    config.setPoolName(name)
    config.setDataSource(source)
    config.setMaximumPoolSize(size)
    config.setMaxLifetime(0)
    HikariDataSource(config)
