package burst.controller.cluster

import burst.controller.store.{PostgresDatabase, StoreSettings}
import com.typesafe.config.{Config, ConfigFactory}
import java.sql.Connection
import org.apache.pekko.actor.ExtendedActorSystem
import org.apache.pekko.coordination.lease.LeaseSettings
import org.apache.pekko.coordination.lease.scaladsl.Lease
import org.apache.pekko.dispatch.Dispatchers
import scala.concurrent.{ExecutionContext, Future}

/** Decides which controllers go on when they cannot reach each other: those of which one gets a lock in the
  * database they all share. The others end. PostgreSQL frees the lock with the connection it was taken on, so
  * that one who dies with it blocks nobody. Controllers that reach neither each other nor the database all
  * end: none of them could do anything anyway.
  */
final class DatabaseLease(settings: LeaseSettings, system: ExtendedActorSystem) extends Lease(settings):
  private given ExecutionContext = system.dispatchers.lookup(Dispatchers.DefaultBlockingDispatcherId)
  private val database = StoreSettings
    .from(system.settings.config)
    .postgres
    .getOrElse(throw IllegalStateException("a lease needs burst.store.postgresql"))
  @volatile private var held = Option.empty[Connection]

  def acquire(): Future[Boolean] = acquire(_ => ())

  def acquire(lost: Option[Throwable] => Unit): Future[Boolean] = Future:
    synchronized:
      if !checkLease() then
        giveBack()
        held = PostgresDatabase.lock(database, settings.leaseName)
      held.isDefined

  def release(): Future[Boolean] = Future:
    synchronized(giveBack())
    true

  def checkLease(): Boolean = held.exists(_.isValid(1))

  private def giveBack(): Unit =
    held.foreach(_.close())
    held = None

object DatabaseLease:
  /** Controllers that share a database settle by it who goes on; of those that share none there is only one.
    */
  def configured(config: Config): Config =
    if config.getString("burst.store.postgresql.url").isEmpty then config
    else ConfigFactory.parseResources("database-lease.conf").withFallback(config)
