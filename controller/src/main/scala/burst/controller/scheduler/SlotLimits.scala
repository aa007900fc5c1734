package burst.controller.scheduler

import burst.controller.store.{NamespaceStore, StoreException}
import burst.node.MonotonicTime
import java.util.concurrent.ConcurrentHashMap
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.FiniteDuration

/** How many slots the running flares of a namespace may hold together. Cached for a while: it is needed for
  * every flare and almost never changes.
  */
final class SlotLimits(
    namespaces: NamespaceStore,
    default: Int,
    refresh: FiniteDuration,
    blocking: ExecutionContext,
    elapsed: () => MonotonicTime
):
  private val known = ConcurrentHashMap[String, SlotLimits.Known]()

  /** The limit, immediately if it is cached; while the store fails the last known one, if any. */
  def of(namespace: String): Future[Int] =
    val last = Option(known.get(namespace))
    last.filter(_.at + refresh > elapsed()) match
      case Some(found) => Future.successful(found.limit)
      case None =>
        val looked = Future(lookUp(namespace))(using blocking)
        looked.recover { case failure: StoreException => last.fold(throw failure)(_.limit) }(
          using ExecutionContext.parasitic
        )

  /** Reads the limit from the store. Blocks. */
  def lookUp(namespace: String): Int =
    val limit = namespaces.limits(namespace).fold(default)(_.concurrentSlots)
    known.put(namespace, SlotLimits.Known(limit, elapsed()))
    limit

  /** All namespaces that are revoked now. Blocks. */
  def revoked(): Set[String] = namespaces.revoked()

  /** Whether a namespace is revoked, according to the store. */
  def isRevoked(namespace: String): Future[Boolean] =
    Future(namespaces.find(namespace).exists(_.revoked.isDefined))(using blocking)

object SlotLimits:
  private final case class Known(limit: Int, at: MonotonicTime)
