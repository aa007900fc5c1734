package burst.invoker.driver
package docker

import com.github.dockerjava.api.exception.ConflictException
import scala.util.{Failure, Success, Try}

/** Gives every container a user of its own, since the kernel counts many of its resources by user, across
  * containers.
  *
  * The daemon keeps track: a container has its user in its name, which must be unique. So users are unique
  * among all invokers of a daemon, are free again when their container is removed, and are never leaked.
  */
private[driver] final class ContainerUsers(range: UserRange):

  /** Claims the first free user by `create`, which fails with a conflict if it is taken. */
  def claim[A](create: Long => A): A =
    range.fromAnywhere
      .take(ContainerUsers.MaxAttempts)
      .map(user => Try(create(user)))
      .collectFirst:
        case Success(created) => created
        case Failure(problem) if !problem.isInstanceOf[ConflictException] => throw problem
      .getOrElse(throw IllegalStateException(s"no user from ${range.first} to ${range.last} is free"))

private[driver] object ContainerUsers:
  /** After this many conflicts in a row, too many users are taken. */
  private val MaxAttempts = 1000

  def name(user: Long): String = s"burst-$user"
