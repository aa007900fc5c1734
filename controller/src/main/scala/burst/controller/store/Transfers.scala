package burst.controller.store

import org.apache.pekko.actor.typed.{ActorSystem, DispatcherSelector}
import scala.collection.immutable.Queue
import scala.concurrent.ExecutionContext

/** Threads for large things on their way to and from a disk or a bucket, apart from those on which the
  * database waits. Of these a namespace has so many at most, so that a bucket that is slow, or one who moves
  * much, keeps neither small writes nor other namespaces waiting.
  */
final class Transfers(threads: ExecutionContext, most: Int = Transfers.MostOfOne):
  import Transfers.TenantTransfers

  private var tenants = Map.empty[String, TenantTransfers]

  /** What a namespace moves. */
  def of(namespace: String): ExecutionContext = new ExecutionContext:
    def execute(work: Runnable): Unit = if mayBegin(namespace, work) then begin(namespace, work)
    def reportFailure(cause: Throwable): Unit = threads.reportFailure(cause)

  /** Calls of a namespace that read what may be in a bucket. */
  def blocking(namespace: String): Blocking = Blocking(of(namespace))

  /** Outputs of a namespace on their way to this machine's disk: what it moves to a bucket is not in their
    * way.
    */
  def gathering(namespace: String): ExecutionContext = of(s"$namespace/outputs")

  /** What belongs to no namespace alone, such as packages for invokers. */
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
  /** What one namespace has under way at once. */
  private val MostOfOne = 4

  /** A namespace's transfers. */
  private final case class TenantTransfers(underWay: Int, waiting: Queue[Runnable])

  def of(system: ActorSystem[?]): Transfers =
    Transfers(system.dispatchers.lookup(DispatcherSelector.fromConfig(StoreSettings.TransferDispatcher)))
