package burst.invoker.driver
package kubernetes

import java.util.concurrent.ConcurrentHashMap

/** Gives every pod of an invoker a user of its own, as [[ContainerUsers]] does with containers.
  *
  * No books are kept between invokers: users of others' pods are not known. That two on a node are the same
  * is as likely as the range is small.
  */
private[driver] final class PodUsers(range: UserRange):
  private val taken = ConcurrentHashMap.newKeySet[Long]()

  /** Nobody's of this invoker's, nor one of those who were `seen`, until it is released. */
  def claim(seen: Set[Long]): Option[Long] =
    range.fromAnywhere.find(user => !seen(user) && taken.add(user))

  def release(user: Long): Unit =
    val _ = taken.remove(user)
