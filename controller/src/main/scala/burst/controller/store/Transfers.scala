package burst.controller.store

import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import scala.collection.immutable.Queue
import scala.concurrent.ExecutionContext

/** Threads for transfers of large data to and from a disk or a bucket, apart from those that wait for the
  * database. A namespace uses a limited number of them, so that neither a slow bucket nor a namespace that
  * transfers much delays small writes or other namespaces.
  */
final class Transfers(threads: ExecutionContext, most: Int = Transfers.MostOfOne):
  import Transfers.TenantTransfers

  private var tenants = Map.empty[String, TenantTransfers]

  /** Returns the threads for a namespace's transfers. */
  def of(namespace: String): ExecutionContext = new ExecutionContext:
    def execute(work: Runnable): Unit = if mayBegin(namespace, work) then begin(namespace, work)
    def reportFailure(cause: Throwable): Unit = threads.reportFailure(cause)

  /** Returns the threads for a namespace's calls that read what may be in a bucket. */
  def blocking(namespace: String): Blocking = Blocking(of(namespace))

  /** Returns the threads for a namespace's outputs on their way to this machine's disk: its transfers to a
    * bucket do not delay them.
    */
  def gathering(namespace: String): ExecutionContext = of(s"$namespace/outputs")

  /** Threads for what belongs to no single namespace, such as packages for invokers. */
  val ofAll: ExecutionContext = of("")

  private def begin(namespace: String, work: Runnable): Unit = threads.execute: () =>
    try work.run()
    finally next(namespace).foreach(begin(namespace, _))

  private def mayBegin(namespace: String, work: Runnable): Boolean = synchronized:
    val tenant = tenants.getOrElse(namespace, TenantTransfers(0, Queue.empty))
    val free = tenant.underWay < most
    val after =
      if free then tenant.copy(underWay = tenant.underWay + 1)
      else tenant.copy(waiting = tenant.waiting.enqueue(work))
    tenants = tenants.updated(namespace, after)
    free

  private def next(namespace: String): Option[Runnable] = synchronized:
    val tenant = tenants(namespace)
    tenant.waiting.dequeueOption match
      case Some((work, rest)) =>
        tenants = tenants.updated(namespace, tenant.copy(waiting = rest))
        Some(work)
      case None =>
        tenants =
          if tenant.underWay == 1 then tenants.removed(namespace)
          else tenants.updated(namespace, tenant.copy(underWay = tenant.underWay - 1))
        None

object Transfers:
  /** The most concurrent transfers of one namespace. */
  private val MostOfOne = 4

  /** A namespace's transfers: how many are running, and those that wait. */
  private final case class TenantTransfers(underWay: Int, waiting: Queue[Runnable])

  def of(system: ActorSystem[?]): Transfers =
    Transfers(system.dispatchers.lookup(DispatcherSelector.fromConfig(StoreSettings.TransferDispatcher)))
