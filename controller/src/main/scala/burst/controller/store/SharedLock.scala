package burst.controller.store

import java.sql.Connection
import scala.util.Using
import scala.util.control.NonFatal

/** How much of a lock somebody has. */
enum LockMode:
  /** Others may have their share, too. */
  case Shared

  /** Nobody else has any of it. */
  case Exclusive

/** A lock of which many may have a share, or one the whole, for as long as they live. Calls block.
  */
trait SharedLock extends AutoCloseable:
  /** What is held for sure. */
  def held(): Option[LockMode]

  /** Takes the whole lock unless somebody else has any of it; whether it is held now. Throws
    * [[StoreUnavailable]].
    */
  def tryExclusive(): Boolean

  /** Takes a share unless somebody else has the whole; whether it is held now. One that has the whole keeps a
    * share of it, without a moment in between. Throws [[StoreUnavailable]].
    */
  def tryShared(): Boolean

  /** Gives back what is held; nothing is taken any more. */
  def close(): Unit

/** There is nobody to share with. */
object UncontendedLock extends SharedLock:
  def held(): Option[LockMode] = Some(LockMode.Shared)
  def tryExclusive(): Boolean = true
  def tryShared(): Boolean = true
  def close(): Unit = ()

/** An advisory lock of PostgreSQL by this name, on a session of its own with which the server frees it,
  * however that ends. Of who vanishes with its machine the server knows after 20 s. There is no session
  * without a lock.
  */
final class AdvisoryLock(settings: PostgresSettings, name: String) extends SharedLock:
  private var session = Option.empty[(Connection, LockMode)]
  private var closed = false

  def held(): Option[LockMode] = synchronized:
    session.filterNot((connection, _) => connection.isValid(AdvisoryLock.CheckSeconds)).foreach(_ => hangUp())
    session.map(_._2)

  def tryExclusive(): Boolean = synchronized:
    held().contains(LockMode.Exclusive) || begin("pg_try_advisory_lock", LockMode.Exclusive)

  def tryShared(): Boolean = synchronized:
    held() match
      case Some(LockMode.Shared) => true
      case None => begin("pg_try_advisory_lock_shared", LockMode.Shared)
      case Some(LockMode.Exclusive) =>
        session.foreach: (connection, _) =>
          told:
            // Nobody is in one's own way.
            call(connection, "pg_try_advisory_lock_shared")
            call(connection, "pg_advisory_unlock")
            session = Some(connection -> LockMode.Shared)
        true

  def close(): Unit = synchronized:
    closed = true
    release()

  /** Gives back what is held, which may be taken again at once. */
  def release(): Unit = synchronized:
    session.foreach: (connection, _) =>
      // The server has it back when it answers; of a session that is closed it knows a moment later.
      try Using.resource(connection.createStatement())(_.execute("SELECT pg_advisory_unlock_all()"))
      catch case NonFatal(_) => ()
    hangUp()

  /** The server has the lock back once it knows of it; when it cannot be told, the session is over anyway. */
  private def hangUp(): Unit =
    session.foreach: (connection, _) =>
      try connection.close()
      catch case NonFatal(_) => ()
    session = None

  private def begin(function: String, hold: LockMode): Boolean =
    hangUp()
    if !closed then
      told:
        val connection = PostgresDatabase.session(settings)
        session = Some(connection -> hold)
        if !call(connection, function) then hangUp()
    session.isDefined

  /** Whatever fails leaves nothing held. */
  private def told(work: => Unit): Unit =
    try work
    catch
      case NonFatal(cause) =>
        hangUp()
        throw StoreUnavailable(settings, cause)

  private def call(connection: Connection, function: String): Boolean =
    Using.resource(connection.prepareStatement(s"SELECT $function(hashtextextended(?, 0))")): statement =>
      statement.setString(1, name)
      val row = statement.executeQuery()
      row.next() && row.getBoolean(1)

object AdvisoryLock:
  /** The lock of which every member of the cluster of controllers has a share. */
  val Members = "burst-members"

  /** How many other processes have a share of [[Members]]. */
  private[store] def members(settings: PostgresSettings): Int =
    Using.resource(PostgresDatabase.session(settings)): connection =>
      Using.resource(connection.prepareStatement(OtherHolders)): statement =>
        statement.setString(1, PostgresDatabase.OwnSessions)
        statement.setString(2, Members)
        val row = statement.executeQuery()
        if row.next() then row.getInt(1) else 0

  // The server shows a lock's number in two halves.
  private val OtherHolders = """
    SELECT count(DISTINCT activity.application_name)
    FROM pg_locks locks JOIN pg_stat_activity activity USING (pid)
    WHERE locks.locktype = 'advisory' AND locks.objsubid = 1 AND locks.granted
      AND activity.datname = current_database() AND activity.application_name <> ?
      AND (locks.classid::bigint << 32) | locks.objid::bigint = hashtextextended(?, 0)"""

  /** How long the server may take to say that it is there. */
  private val CheckSeconds = 2
