package burst.controller.store

import burst.controller.metrics.DatabaseMetrics
import burst.node.metrics.MetricsRegistry
import burst.protocol.Timestamp
import com.zaxxer.hikari.HikariDataSource
import java.sql.Connection
import scala.util.Try
import scala.util.control.NonFatal
import scalikejdbc.*

/** What a transaction that has returned survives: the end of the process, however it comes, or a failure of
  * the machine's power, too.
  */
enum Durability:
  case Process, Power

/** A migrated database, to be read and written. The stores know nothing more of it, so that another JDBC
  * database needs its own `open` and migrations and no other store.
  *
  * @param prepare
  *   has the transaction that a connection begins next last as said
  * @param rowLock
  *   ends a SELECT whose rows nobody else may change before this transaction has ended
  * @param sharedLock
  *   the same, where several may hold a row at once
  * @param oneWriter
  *   whether this process alone writes, and its transactions come one after the other
  * @param validity
  *   of what is remembered of it
  * @param clock
  *   what all who write to it go by, as a [[Timestamp]]: of a database on one machine its own
  */
final class Database(
    reader: HikariDataSource,
    writer: HikariDataSource,
    prepare: (Connection, Durability) => Unit,
    val rowLock: SQLSyntax,
    val sharedLock: SQLSyntax,
    oneWriter: Boolean,
    validity: Validity,
    metrics: DatabaseMetrics = DatabaseMetrics(MetricsRegistry()),
    clock: () => SQLSyntax = () => sqls"${Timestamp.now()}"
) extends AutoCloseable:
  import Database.Transaction

  /** Statements that change nothing, each seeing what was committed before it. */
  def read[A](operation: String)(work: DBSession ?=> A): A =
    Database.borrow(operation, reader, metrics.reads)(_.autoCommit(session => work(using session)))

  /** The transaction that this thread is in. */
  private val joined = ThreadLocal[Transaction]()

  /** Statements that take effect together or not at all, and are stored on return. What `work` writes on this
    * thread, in this store and others of this database, is part of the same transaction.
    */
  def write[A](operation: String, durability: Durability = Durability.Process)(work: DBSession ?=> A): A =
    Option(joined.get) match
      case Some(transaction) => Database.named(operation)(work(using transaction.session))
      case None => begin(operation, durability)(work)

  /** Writes what may be remembered ([[remembered]]), and survives a failure of power. When that is told (on
    * return, or by the future of [[Blocking]]) nobody finds what was there before: where others have read it,
    * they have forgotten it by then.
    */
  def change[A](operation: String)(work: DBSession ?=> A): A =
    write(operation, Durability.Power):
      joined.get.changes = true
      work

  private def begin[A](operation: String, durability: Durability)(work: DBSession ?=> A): A =
    var changes = false
    val result =
      try
        Database.borrow(operation, writer, metrics.writes, prepare(_, durability)):
          _.localTx: session =>
            val transaction = Transaction(session)
            joined.set(transaction)
            try work(using session)
            finally
              changes = transaction.changes
              joined.remove()
      // Also of what failed: its commit may have arrived.
      finally if changes then validity.changed()
    if changes then validity.awaitForgotten()
    result

  /** What one writes for others to compare with it: machines' clocks differ. */
  def now: SQLSyntax = clock()

  /** For what is read again and again and seldom changed, by [[change]] and nothing else. */
  def remembered[K, V](most: Int): Remembered[K, V] = Remembered(most, validity)

  /** Has those who write at the same time share a transaction, which `write` makes. */
  def sharing[A, B](weight: A => Long)(write: Vector[A] => Vector[Try[B]]): GroupCommit[A, B] =
    GroupCommit(write, oneWriter, weight)

  metrics.watch(reader)
  metrics.watch(writer)

  override def close(): Unit =
    reader.close()
    writer.close()

object Database:
  private final class Transaction(val session: DBSession):
    /** Whether it writes what may be remembered. */
    var changes = false

  /** A connection goes back to its pool only after work that succeeded. What failed may have ended the
    * transaction in the database alone (SQLite does so when the disk is full), or not ended it: neither the
    * driver nor the pool can be sure, and whoever came next would meet the rest of it.
    */
  private def borrow[A](
      operation: String,
      source: HikariDataSource,
      metrics: DatabaseMetrics.Access,
      prepare: Connection => Unit = _ => ()
  )(work: DBConnection => A): A =
    Blocking.begins()
    named(operation):
      metrics.counted:
        val connection = metrics.waiting(source.getConnection)
        val result =
          try
            metrics.working:
              prepare(connection)
              // Closed here and nowhere else: a second time would reach into what its next user has open.
              work(DB(connection, DBConnectionAttributes(), Silent).autoClose(false))
          catch
            case failure: Throwable =>
              source.evictConnection(connection)
              throw failure
        connection.close()
        result

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
