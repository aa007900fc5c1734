package burst.controller.store

import burst.controller.limits.LruCache
import java.lang.ref.SoftReference

/** What was read of a database that this process alone writes to: good until something is written
  * ([[Database.remembered]]). Of more than `most` what was not asked for for longest is forgotten, and any of
  * it when the heap is short.
  */
final class Remembered[K, V] private[store] (most: Int, writes: Option[() => Long]):
  private val known = LruCache[K, SoftReference[Remembered.Read[V]]](most)

  /** How often was written when that was last asked: nothing is held on to that is not good any more. */
  private var seen = -1L

  /** What is known by this key, or is read now. */
  def apply(key: K)(read: => V): V = writes match
    case None => read
    case Some(count) =>
      // Before it is read: should somebody write meanwhile, it is not good for long.
      val now = count()
      def found = Option(known.get(key)).flatMap(held => Option(held.get)).filter(_.at == now)
      synchronized:
        if now != seen then
          seen = now
          known.clear()
        found
      match
        case Some(found) => found.value
        case None =>
          val value = read
          synchronized(known.put(key, SoftReference(Remembered.Read(value, now))))
          value

private[store] object Remembered:
  /** Definitions, and packages of actions, that are remembered. */
  val Entities = 1000

  final case class Read[V](value: V, at: Long)
