package burst.controller.cluster

import burst.controller.store.{AdvisoryLock, LockMode, StoreSettings}
import com.typesafe.config.{Config, ConfigFactory}
import org.apache.pekko.actor.ExtendedActorSystem
import org.apache.pekko.coordination.lease.LeaseSettings
import org.apache.pekko.coordination.lease.scaladsl.Lease
import org.apache.pekko.dispatch.Dispatchers
import scala.concurrent.{ExecutionContext, Future}

/** Decides which controllers continue when they cannot reach each other: the partition in which one gets a
  * lock in the database they all share. The others end. PostgreSQL releases the lock with the connection it
  * was taken on, so that a controller that dies with it blocks no other. Controllers that reach neither each
  * other nor the database all end: none of them could do anything anyway.
  */
final class SplitBrainLock(settings: LeaseSettings, system: ExtendedActorSystem) extends Lease(settings):
  private given ExecutionContext = system.dispatchers.lookup(Dispatchers.DefaultBlockingDispatcherId)
  private val lock = StoreSettings
    .from(system.settings.config)
    .postgres
    .map(AdvisoryLock(_, settings.leaseName))
    .getOrElse(throw IllegalStateException("a lease needs burst.store.postgresql"))

  def acquire(): Future[Boolean] = acquire(_ => ())

  def acquire(lost: Option[Throwable] => Unit): Future[Boolean] = Future(lock.tryExclusive())

  def release(): Future[Boolean] = Future:
    lock.release()
    true

  def checkLease(): Boolean = lock.held().contains(LockMode.Exclusive)

object SplitBrainLock:
  /** Controllers that share a database use the lock to decide which of them continue; without a shared one
    * there is only one controller.
    */
  def configured(config: Config): Config =
    if config.getString("burst.store.postgresql.url").isEmpty then config
    else ConfigFactory.parseResources("split-brain-lock.conf").withFallback(config)
