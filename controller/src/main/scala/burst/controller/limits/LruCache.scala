package burst.controller.limits

import java.util.{LinkedHashMap, Map}

/** A map of at most so many entries: what was not asked for for longest is forgotten. For one thread at a
  * time.
  */
final class LruCache[K, V](most: Int) extends LinkedHashMap[K, V](16, 0.75f, true):
  override protected def removeEldestEntry(eldest: Map.Entry[K, V]): Boolean = size > most
