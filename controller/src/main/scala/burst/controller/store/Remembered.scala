package burst.controller.store

import burst.controller.limits.LruCache
import java.lang.ref.SoftReference
import java.util.concurrent.atomic.AtomicBoolean

/** A cache of values read from a database, for as long as they are valid ([[Database.remembered]]). Beyond
  * `most` entries the least recently used are dropped, and any of them when the heap is short. A value in
  * constant use is read again by one of its callers shortly before it becomes invalid, so that the others
  * never wait.
  */
final class Remembered[K, V] private[store] (most: Int, validity: Validity):
  import Remembered.Read

  private val known = LruCache[K, SoftReference[Read[V]]](most)

  /** Returns the cached value of a key, or reads it. */
  def apply(key: K)(read: => V): V =
    val found = synchronized(Option(known.get(key))).flatMap(held => Option(held.get))
    found.filter(found => validity.covers(found.stamp) && !isRenewedHere(found)) match
      case Some(found) => found.value
      case None =>
        // Taken before reading: if somebody changes the value meanwhile, it is not valid for long.
        val stamp = validity.stamp()
        val value = read
        synchronized(known.put(key, SoftReference(Read(value, stamp))))
        value

  /** Whether this caller should read the value again: the first caller, and if that one must not block, also
    * the first of those that may.
    */
  private def isRenewedHere(found: Read[V]): Boolean =
    validity.isAging(found.stamp) && {
      val begun = if Blocking.isForbidden then found.noticed else found.renewed
      !begun.get && begun.compareAndSet(false, true)
    }

private[store] object Remembered:
  /** How many definitions, and packages of actions, are cached. */
  val Entities = 1000

  final class Read[V](val value: V, val stamp: Long):
    /** A caller that must not block has noticed it and moves to a thread that may. */
    val noticed: AtomicBoolean = AtomicBoolean()

    /** A caller is reading it again. */
    val renewed: AtomicBoolean = AtomicBoolean()
