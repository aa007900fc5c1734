package burst.invoker.driver
package docker

import com.github.dockerjava.api.exception.ConflictException
import scala.util.{Failure, Success, Try}

/** Gives every container a user of its own, since much of what the kernel has is counted by user, across
  * containers.
  *
  * The daemon keeps the books: a container bears its user in its name, of which there cannot be two. So users
  * are unique among all invokers of a daemon, are free again when their container is removed, and are never
  * lost.
  */
private[driver] final class ContainerUsers(range: UserRange):

  /** The first that nobody else has, by `create`, which fails with a conflict where somebody has. */
  def claim[A](create: Long => A): A =
    range.fromAnywhere
      .take(ContainerUsers.MaxAttempts)
      .map(user => Try(create(user)))
      .collectFirst:
        case Success(created) => created
        case Failure(problem) if !problem.isInstanceOf[ConflictException] => throw problem
      .getOrElse(throw IllegalStateException(s"no user from ${range.first} to ${range.last} is free"))

private[driver] object ContainerUsers:
  /** What is taken so often in a row is taken by too many. */
  private val MaxAttempts = 1000

  def name(user: Long): String = s"burst-$user"
