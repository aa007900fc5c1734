package burst.controller.store

import java.sql.Connection
import scala.util.Using
import scala.util.control.NonFatal

/** How a lock is held. */
enum LockMode:
  /** Others may hold it as well. */
  case Shared

  /** Nobody else holds it. */
  case Exclusive

/** A lock that many can share or one hold exclusively, for as long as they live. Calls block. */
trait SharedLock extends AutoCloseable:
  /** Returns what is certainly held. */
  def held(): Option[LockMode]

  /** Takes the lock exclusively unless anyone else holds it; returns whether it is held now. Throws
    * [[StoreUnavailable]].
    */
  def tryExclusive(): Boolean

  /** Takes a share unless someone else holds the lock exclusively; returns whether it is held now. A holder
    * of the exclusive lock downgrades to a share without a gap. Throws [[StoreUnavailable]].
    */
  def tryShared(): Boolean

  /** Releases what is held; nothing can be taken any more. */
  def close(): Unit

/** A lock for a process that shares with nobody. */
object UncontendedLock extends SharedLock:
  def held(): Option[LockMode] = Some(LockMode.Shared)
  def tryExclusive(): Boolean = true
  def tryShared(): Boolean = true
  def close(): Unit = ()

/** An advisory lock of PostgreSQL with this name, on a session of its own; the server releases it when the
  * session ends, in whatever way. If the machine vanishes, the server notices after 20 s. Without a lock
  * there is no session.
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
            // A session's own locks do not conflict.
            call(connection, "pg_try_advisory_lock_shared")
            call(connection, "pg_advisory_unlock")
            session = Some(connection -> LockMode.Shared)
        true

  def close(): Unit = synchronized:
    closed = true
    release()

  /** Releases what is held; it can be taken again immediately. */
  def release(): Unit = synchronized:
    session.foreach: (connection, _) =>
      // The server has released the lock when it answers; it notices a closed session only a moment later.
      try Using.resource(connection.createStatement())(_.execute("SELECT pg_advisory_unlock_all()"))
      catch case NonFatal(_) => ()
    hangUp()

  /** Closes the session, which releases the lock once the server notices; if closing fails, the session is
    * over anyway.
    */
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

  /** Runs work; if it fails, nothing is held. */
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
  /** The lock that every member of the cluster of controllers shares. */
  val Members = "burst-members"

  /** Returns how many other processes hold a share of [[Members]]. */
  private[store] def members(settings: PostgresSettings): Int =
    Using.resource(PostgresDatabase.session(settings)): connection =>
      Using.resource(connection.prepareStatement(OtherHolders)): statement =>
        statement.setString(1, PostgresDatabase.OwnSessions)
        statement.setString(2, Members)
        val row = statement.executeQuery()
        if row.next() then row.getInt(1) else 0

  // PostgreSQL shows a lock's number in two halves.
  private val OtherHolders = """
    SELECT count(DISTINCT activity.application_name)
    FROM pg_locks locks JOIN pg_stat_activity activity USING (pid)
    WHERE locks.locktype = 'advisory' AND locks.objsubid = 1 AND locks.granted
      AND activity.datname = current_database() AND activity.application_name <> ?
      AND (locks.classid::bigint << 32) | locks.objid::bigint = hashtextextended(?, 0)"""

  /** How long the server may take to answer a check. */
  private val CheckSeconds = 2
