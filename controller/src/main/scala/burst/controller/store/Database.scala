package burst.controller.store

import com.zaxxer.hikari.HikariDataSource
import scala.util.control.NonFatal
import scalikejdbc.*

/** A migrated database, to be read and written. The stores know nothing more of it, so that another JDBC
  * database needs its own `open` and migrations and no other store.
  *
  * @param locks
  *   hold off all controllers that use this database
  * @param rowLock
  *   ends a SELECT whose rows nobody else may change before this transaction has ended
  * @param sharedLock
  *   the same, where several may hold a row at once
  */
final class Database(
    reader: HikariDataSource,
    writer: HikariDataSource,
    locks: NamedLocks,
    val rowLock: SQLSyntax,
    val sharedLock: SQLSyntax
) extends AutoCloseable:

  /** Statements that change nothing, each seeing what was committed before it. */
  def read[A](operation: String)(work: DBSession ?=> A): A =
    Database.borrow(operation, reader)(_.autoCommit(session => work(using session)))

  /** The transaction of [[together]] that this thread is in. */
  private val joined = ThreadLocal[DBSession]()

  /** Statements that take effect together or not at all, and are durable on return; within [[together]] with
    * the rest of it.
    */
  def write[A](operation: String)(work: DBSession ?=> A): A =
    Option(joined.get) match
      case Some(session) => Database.named(operation)(work(using session))
      case None => Database.borrow(operation, writer)(_.localTx(session => work(using session)))

  /** What `work` writes on this thread takes effect together or not at all, and is durable on return. */
  def together[A](operation: String)(work: => A): A =
    write(operation): session ?=>
      joined.set(session)
      try work
      finally joined.remove()

  /** Does the work while nobody else, on any controller, does work under the same name. */
  def exclusively[A](name: String)(work: => A): A = locks.hold(name)(work)

  override def close(): Unit =
    locks.close()
    reader.close()
    writer.close()

object Database:
  private[store] def borrow[A](operation: String, source: HikariDataSource)(work: DB => A): A =
    named(operation):
      val connection = source.getConnection
      try work(DB(connection, DBConnectionAttributes(), Silent))
      finally connection.close()

  private def named[A](operation: String)(work: => A): A =
    try work
    catch
      case told: StoreException => throw told
      case NonFatal(cause) => throw StoreException(operation, cause)

  /** Statements carry users' inputs and key hashes: none may reach a log. */
  private val Silent = SettingsProvider.default.copy(
    loggingSQLErrors = _ => false,
    loggingSQLAndTime = _ => LoggingSQLAndTimeSettings(enabled = false)
  )
