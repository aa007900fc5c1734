package burst.controller.store

import burst.controller.metrics.DatabaseMetrics
import burst.node.metrics.MetricsRegistry
import burst.protocol.Timestamp
import com.zaxxer.hikari.HikariDataSource
import java.sql.Connection
import scala.util.Try
import scala.util.control.NonFatal
import scalikejdbc.*

/** What a committed transaction survives: the end of the process, in whatever way, or also a power failure of
  * the machine.
  */
enum Durability:
  case Process, Power

/** A migrated database. The stores know nothing more about it, so that another JDBC database needs only its
  * own `open` and migrations.
  *
  * @param prepare
  *   sets the durability of the next transaction on a connection
  * @param rowLock
  *   ends a SELECT whose rows nobody else may change before this transaction has ended
  * @param sharedLock
  *   the same, but several may hold a row at once
  * @param oneWriter
  *   whether only this process writes, with one transaction at a time
  * @param validity
  *   how long values read from it may be cached
  * @param clock
  *   the time that all its writers share, as a [[Timestamp]]: for a database on one machine, that machine's
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

  /** Runs statements that change nothing, each seeing what was committed before it. */
  def read[A](operation: String)(work: DBSession ?=> A): A =
    Database.borrow(operation, reader, metrics.reads)(_.autoCommit(session => work(using session)))

  /** The transaction of this thread. */
  private val joined = ThreadLocal[Transaction]()

  /** Runs statements that take effect together or not at all, and are committed on return. What `work` writes
    * on this thread, in this store and others of this database, is part of the same transaction.
    */
  def write[A](operation: String, durability: Durability = Durability.Process)(work: DBSession ?=> A): A =
    Option(joined.get) match
      case Some(transaction) => Database.named(operation)(work(using transaction.session))
      case None => begin(operation, durability)(work)

  /** Writes values that may be cached ([[remembered]]), surviving a power failure. Once the change is
    * reported as done (on return, or by the future of [[Blocking]]) nobody reads the old value any more:
    * caches that held it have dropped it by then.
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
      // Even after a failure: the commit may have arrived.
      finally if changes then validity.changed()
    if changes then validity.awaitForgotten()
    result

  /** The time to write if others compare it with theirs: machines' clocks differ. */
  def now: SQLSyntax = clock()

  /** Returns a cache for values that are read often and changed rarely, only by [[change]]. */
  def remembered[K, V](most: Int): Remembered[K, V] = Remembered(most, validity)

  /** Lets concurrent writers share a transaction, which `write` performs. */
  def sharing[A, B](weight: A => Long)(write: Vector[A] => Vector[Try[B]]): GroupCommit[A, B] =
    GroupCommit(write, oneWriter, weight)

  metrics.watch(reader)
  metrics.watch(writer)

  override def close(): Unit =
    reader.close()
    writer.close()

object Database:
  private final class Transaction(val session: DBSession):
    /** Whether it writes values that may be cached. */
    var changes = false

  /** Lends a connection, which returns to its pool only after work that succeeded. A failure may have ended
    * the transaction in the database only (SQLite does so when the disk is full), or not ended it: neither
    * the driver nor the pool can know, and the next user would meet the rest of it.
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
              // Closed only here: closing it twice would close what its next user has open.
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

  /** Statements contain users' inputs and key hashes: none may reach a log. */
  private val Silent = SettingsProvider.default.copy(
    loggingSQLErrors = _ => false,
    loggingSQLAndTime = _ => LoggingSQLAndTimeSettings(enabled = false)
  )
