package burst.controller.store

import com.zaxxer.hikari.HikariDataSource
import scala.util.Try
import scalikejdbc.*

/** Locks by name among all who use a database. They are not re-entrant. */
trait NamedLocks extends AutoCloseable:
  def hold[A](name: String)(work: => A): A

/** For a database that one process uses. Names that fall on the same stripe wait for each other. */
final class ProcessLocks extends NamedLocks:
  private val stripes = Vector.fill(64)(Object())

  def hold[A](name: String)(work: => A): A =
    stripes(Math.floorMod(name.hashCode, stripes.size)).synchronized(work)

  override def close(): Unit = ()

/** PostgreSQL's advisory locks: the server frees them when their transaction or its connection ends, however
  * that comes. They have connections of their own, as the work under a lock needs others.
  */
final class AdvisoryLocks(connections: HikariDataSource) extends NamedLocks:
  def hold[A](name: String)(work: => A): A =
    val done = Database.borrow("holding a lock", connections):
      _.localTx: session =>
        given DBSession = session
        sql"SELECT pg_advisory_xact_lock(hashtextextended($name, 0))".map(_ => ()).single()
        // How the work ends is its own affair, not a failure of the lock.
        Try(work)
    done.get

  override def close(): Unit = connections.close()
