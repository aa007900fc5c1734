package burst.controller.limits

import java.util.{LinkedHashMap, Map}

/** A map with a limited number of entries, which evicts the least recently used one. Not thread-safe. */
final class LruCache[K, V](most: Int) extends LinkedHashMap[K, V](16, 0.75f, true):
  override protected def removeEldestEntry(eldest: Map.Entry[K, V]): Boolean = size > most
