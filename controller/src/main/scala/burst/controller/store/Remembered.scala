package burst.controller.store

import burst.controller.limits.LruCache
import java.lang.ref.SoftReference
import java.util.concurrent.atomic.AtomicBoolean

/** What was read of a database, for as long as that is good ([[Database.remembered]]). Of more than `most`
  * what was not asked for for longest is forgotten, and any of it when the heap is short. What is asked for
  * all the time is read again by one of those who ask, shortly before it is not good any more, and the others
  * wait for nothing.
  */
final class Remembered[K, V] private[store] (most: Int, validity: Validity):
  import Remembered.Read

  private val known = LruCache[K, SoftReference[Read[V]]](most)

  /** What is known by this key, or is read now. */
  def apply(key: K)(read: => V): V =
    val found = synchronized(Option(known.get(key))).flatMap(held => Option(held.get))
    found.filter(found => validity.covers(found.stamp) && !isRenewedHere(found)) match
      case Some(found) => found.value
      case None =>
        // Before it is read: should somebody change it meanwhile, it is not good for long.
        val stamp = validity.stamp()
        val value = read
        synchronized(known.put(key, SoftReference(Read(value, stamp))))
        value

  /** Whether this caller is to read it again: the first who asks, and where that one may not block, the first
    * of those who may.
    */
  private def isRenewedHere(found: Read[V]): Boolean =
    validity.isAging(found.stamp) && {
      val begun = if Blocking.isForbidden then found.noticed else found.renewed
      !begun.get && begun.compareAndSet(false, true)
    }

private[store] object Remembered:
  /** Definitions, and packages of actions, that are remembered. */
  val Entities = 1000

  final class Read[V](val value: V, val stamp: Long):
    /** Somebody has gone to a thread that may block. */
    val noticed: AtomicBoolean = AtomicBoolean()

    /** Somebody reads it again. */
    val renewed: AtomicBoolean = AtomicBoolean()
