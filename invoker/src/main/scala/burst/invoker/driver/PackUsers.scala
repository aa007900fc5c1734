package burst.invoker.driver

import java.util.concurrent.ConcurrentHashMap

/** Gives every container of an invoker a user of its own, since the kernel counts many of its resources by
  * user, across containers.
  *
  * Invokers do not coordinate: the users of others' containers are unknown. The smaller the range, the
  * likelier two containers on a machine have the same user.
  */
private[driver] final class PackUsers(range: UserRange):
  private val taken = ConcurrentHashMap.newKeySet[Long]()

  /** Claims a user that no other container of this invoker has, and that is not among those `seen`, until it
    * is released.
    */
  def claim(seen: Set[Long] = Set.empty): Option[Long] =
    range.fromAnywhere.find(user => !seen(user) && taken.add(user))

  def release(user: Long): Unit =
    val _ = taken.remove(user)
