package burst.invoker.packages

import burst.protocol.PackageId

/** What the cache holds and who uses it: a pure data structure. `clock` counts uses, so the entry with the
  * smallest `lastUsed` has been unused for longest.
  */
private[packages] final case class CacheIndex(
    entries: Map[PackageId, CacheIndex.Entry] = Map.empty,
    clock: Long = 0
):
  import CacheIndex.Entry

  def bytes: Long = entries.values.map(_.bytes).sum

  def add(id: PackageId, size: Long): CacheIndex =
    CacheIndex(entries.updated(id, Entry(size, users = 0, lastUsed = clock)), clock + 1)

  def acquire(id: PackageId): CacheIndex = change(id)(_ + 1)
  def release(id: PackageId): CacheIndex = change(id)(users => math.max(0, users - 1))

  /** Selects packages to remove so that the rest fits `limit`, longest unused first; never one that a pack
    * uses.
    */
  def evict(limit: Long): (CacheIndex, Vector[PackageId]) =
    val idle = entries.toVector.filter(_._2.users == 0).sortBy(_._2.lastUsed)
    val (victims, _) = idle.foldLeft((Vector.empty[PackageId], bytes)):
      case ((victims, remaining), (id, entry)) =>
        if remaining > limit then (victims :+ id, remaining - entry.bytes) else (victims, remaining)
    (copy(entries = entries -- victims), victims)

  private def change(id: PackageId)(users: Int => Int): CacheIndex = entries.get(id) match
    case None => this
    case Some(entry) =>
      CacheIndex(entries.updated(id, entry.copy(users = users(entry.users), lastUsed = clock)), clock + 1)

private[packages] object CacheIndex:
  final case class Entry(bytes: Long, users: Int, lastUsed: Long)
