package burst.invoker.driver

import java.util.concurrent.ConcurrentHashMap

/** Gives every container of an invoker a user of its own, since much of what a kernel has is counted by user,
  * across containers.
  *
  * No books are kept between invokers: users of others' containers are not known. That two on a machine are
  * the same is as likely as the range is small.
  */
private[driver] final class PackUsers(range: UserRange):
  private val taken = ConcurrentHashMap.newKeySet[Long]()

  /** Nobody's of this invoker's, nor one of those who were `seen`, until it is released. */
  def claim(seen: Set[Long] = Set.empty): Option[Long] =
    range.fromAnywhere.find(user => !seen(user) && taken.add(user))

  def release(user: Long): Unit =
    val _ = taken.remove(user)
