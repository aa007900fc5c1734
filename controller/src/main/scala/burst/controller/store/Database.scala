package burst.controller.store

import com.zaxxer.hikari.HikariDataSource
import scala.util.control.NonFatal
import scalikejdbc.*

/** A migrated database, to be read and written. The stores know nothing more of it, so that another JDBC
  * database needs its own `open` and migrations and no other store.
  */
final class Database(reader: HikariDataSource, writer: HikariDataSource) extends AutoCloseable:

  /** Statements that change nothing, each seeing what was committed before it. */
  def read[A](operation: String)(work: DBSession ?=> A): A =
    borrow(operation, reader)(_.autoCommit(session => work(using session)))

  /** Statements that take effect together or not at all, and are durable on return. */
  def write[A](operation: String)(work: DBSession ?=> A): A =
    borrow(operation, writer)(_.localTx(session => work(using session)))

  private def borrow[A](operation: String, source: HikariDataSource)(work: DB => A): A =
    try
      val connection = source.getConnection
      try work(DB(connection, DBConnectionAttributes(), Database.Silent))
      finally connection.close()
    catch case NonFatal(cause) => throw StoreException(operation, cause)

  override def close(): Unit =
    reader.close()
    writer.close()

object Database:
  /** Statements carry users' inputs and key hashes: none may reach a log. */
  private val Silent = SettingsProvider.default.copy(
    loggingSQLErrors = _ => false,
    loggingSQLAndTime = _ => LoggingSQLAndTimeSettings(enabled = false)
  )
